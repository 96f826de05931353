-- JSON: display names of the recipients in To, Cc and Reply-To by address key; null for none.
alter table messages add column recipient_names text;
