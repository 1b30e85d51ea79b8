-- How many admins an organization has. Counted, not looked up: an index of the admins made every change of a role touch a
-- second page somewhere in a large store.
ALTER TABLE organizations ADD COLUMN admin_count integer NOT NULL DEFAULT 0 CHECK (admin_count >= 0);

UPDATE organizations SET admin_count =
  (SELECT count(*) FROM members WHERE members.organization_id = organizations.id AND members.role = 'admin');

DROP INDEX members_admins;
