WITH sold AS (
  SELECT
    part_id,
    max(line) AS last_line,
    CAST(sum(revenue) AS DECIMAL(28, 4)) AS revenue
  FROM ref('stg_lines')
  GROUP BY part_id
)
SELECT
  sold.part_id,
  p.brand,
  sold.last_line,
  sold.revenue
FROM sold
JOIN ref('stg_part') AS p ON p.part_id = sold.part_id
