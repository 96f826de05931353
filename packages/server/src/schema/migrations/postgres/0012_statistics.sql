-- An inbox is of one account. The planner takes the two columns for independent and believes that far fewer
-- rows have both, so it sorted all threads of an inbox for a page of fifty: 461 pages read instead of 53.
-- They are filled when the server analyzes the tables the next time.
create statistics if not exists threads_inbox_account (dependencies) on inbox_id, account_id from threads;
create statistics if not exists messages_inbox_account (dependencies) on inbox_id, account_id from messages;
