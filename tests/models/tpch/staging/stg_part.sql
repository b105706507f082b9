SELECT
  p_partkey AS part_id,
  p_brand AS brand
FROM part
