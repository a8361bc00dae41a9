-- What a page of the log needs of products without their texts: who may know of them, and which hazard they were part of.

-- Who may know of a product after the change: '' everybody, ',1,4,' members of these organizations; after a '-' the product
-- is deleted. NULL: look in body (a change of a hazard, one of a release before this schema, or a very long list).
ALTER TABLE changes ADD COLUMN audience TEXT;

-- Both replace a narrower index, so that a count of products touches no row of the log.
CREATE INDEX audiences_of_product ON changes (product_id, n, hazard_id, audience) WHERE product_id > 0;
CREATE INDEX products_of_changes ON changes (hazard_id, product_id, n) WHERE product_id > 0;
DROP INDEX changes_of_product;
DROP INDEX product_changes_of_hazard;
