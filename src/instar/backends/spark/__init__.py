"""Tables on Spark: Delta, Iceberg and Parquet, each a backend over one shared SparkHandle."""
