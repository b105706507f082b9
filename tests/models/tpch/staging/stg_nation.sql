---
materialization: view
---
SELECT n_nationkey AS nation_id, n_name AS nation
FROM nation
