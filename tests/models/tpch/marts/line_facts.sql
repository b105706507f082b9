SELECT
  order_id,
  line,
  part_id,
  quantity,
  discount,
  revenue,
  ship_year
FROM ref('stg_lines')
