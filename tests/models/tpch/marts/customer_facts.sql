SELECT
  c.customer_id,
  c.name,
  c.nation_id,
  count(*) AS orders,
  CAST(sum(o.price) AS DECIMAL(28, 2)) AS spent
FROM ref('stg_customer') AS c
JOIN ref('stg_orders') AS o ON o.customer_id = c.customer_id
GROUP BY c.customer_id, c.name, c.nation_id
