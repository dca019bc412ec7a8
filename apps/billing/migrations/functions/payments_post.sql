-- Posts what a change of state moves between accounts: what it is afterwards less what it was before.
CREATE OR REPLACE FUNCTION payments_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO postings (at, payment_id, network, asset, account, amount)
    SELECT NEW.updated_at, NEW.id, NEW.network, NEW.asset, moved.account, sum(moved.amount)
    FROM (
      SELECT account, amount FROM payment_accounts(NEW.state, NEW.maximum, NEW.charge)
      UNION ALL
      SELECT account, -amount FROM payment_accounts(CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.maximum, NEW.charge)
    ) AS moved
    GROUP BY moved.account HAVING sum(moved.amount) <> 0;
  RETURN NULL;
END $$;
