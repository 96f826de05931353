-- The pod that alone may have the address again; null: its account. Programs of before write the pod into account_id.
alter table released_addresses add column pod_id text;
create index released_addresses_by_pod on released_addresses (pod_id) where pod_id is not null;

-- Blobs that nothing refers to any more. They are removed after the transaction that notes them, and once more from this
-- list, where a crash or a failing store came between.
create table unreferenced_blobs (
  id text not null primary key
) strict, without rowid;
