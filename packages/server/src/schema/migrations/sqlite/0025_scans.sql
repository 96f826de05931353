-- What the rules and scanners said when the message arrived, for its release.
alter table quarantined_messages add column category text;
alter table quarantined_messages add column judgement text;
