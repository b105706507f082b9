SELECT
  order_id,
  customer_id,
  status,
  price,
  ordered,
  CAST(extract(YEAR FROM ordered) AS INT) AS ordered_year
FROM ref('stg_orders')
