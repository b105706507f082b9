SELECT
  ship_year,
  max(line) AS last_line,
  max(discount) AS most_discount,
  CAST(sum(quantity) AS DECIMAL(28, 2)) AS quantity,
  CAST(sum(revenue) AS DECIMAL(28, 4)) AS revenue
FROM ref('line_facts')
GROUP BY ship_year
