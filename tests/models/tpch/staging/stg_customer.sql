---
materialization: view
---
SELECT c_custkey AS customer_id, c_name AS name, c_nationkey AS nation_id, c_acctbal AS balance
FROM customer
