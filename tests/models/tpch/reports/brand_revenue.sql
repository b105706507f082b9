SELECT
  brand,
  max(last_line) AS last_line,
  CAST(sum(revenue) AS DECIMAL(28, 4)) AS revenue
FROM ref('part_facts')
GROUP BY brand
