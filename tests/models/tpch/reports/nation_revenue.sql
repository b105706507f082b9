WITH customers AS (
  SELECT
    nation_id,
    CAST(sum(spent) AS DECIMAL(28, 2)) AS spent
  FROM ref('customer_facts')
  GROUP BY nation_id
),
bought AS (
  SELECT
    c.nation_id,
    max(o.status) AS last_status,
    max(o.price) AS biggest_price
  FROM ref('order_facts') AS o
  JOIN ref('stg_customer') AS c ON c.customer_id = o.customer_id
  GROUP BY c.nation_id
)
SELECT
  n.nation,
  customers.spent,
  bought.last_status,
  bought.biggest_price
FROM ref('stg_nation') AS n
JOIN customers ON customers.nation_id = n.nation_id
JOIN bought ON bought.nation_id = n.nation_id
