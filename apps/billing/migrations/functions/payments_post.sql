-- Posts the difference that a change of state makes to the accounts of a payment.
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
