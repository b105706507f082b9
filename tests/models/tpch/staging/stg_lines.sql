SELECT
  l_orderkey AS order_id,
  l_linenumber AS line,
  l_partkey AS part_id,
  l_quantity AS quantity,
  l_discount AS discount,
  CAST(l_extendedprice * (1 - l_discount) AS DECIMAL(18, 4)) AS revenue,
  CAST(extract(YEAR FROM l_shipdate) AS INT) AS ship_year
FROM lineitem
