-- Allows only the listed transitions and protects the columns that never change, also against our own code.
CREATE OR REPLACE FUNCTION payments_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'payments are never deleted';
  END IF;
  IF NEW.state <> OLD.state AND NOT (OLD.state, NEW.state) IN (
    ('authorized', 'charging'), ('authorized', 'zero'), ('authorized', 'released'), ('authorized', 'expired'),
    ('charging', 'submitted'), ('charging', 'settled'), ('charging', 'failed'),
    ('submitted', 'settled'), ('submitted', 'failed'),
    ('settled', 'submitted'), ('failed', 'settled')
  ) THEN
    RAISE EXCEPTION 'payment % cannot go from % to %', OLD.id, OLD.state, NEW.state;
  END IF;
  IF (NEW.id, NEW.kind, NEW.network, NEW.payer, NEW.nonce, NEW.asset, NEW.pay_to, NEW.facilitator, NEW.maximum, NEW.deadline, NEW.signature,
      NEW.permit_deadline, NEW.permit_signature)
    IS DISTINCT FROM
    (OLD.id, OLD.kind, OLD.network, OLD.payer, OLD.nonce, OLD.asset, OLD.pay_to, OLD.facilitator, OLD.maximum, OLD.deadline, OLD.signature,
      OLD.permit_deadline, OLD.permit_signature)
    OR (OLD.charge IS NOT NULL AND NEW.charge IS DISTINCT FROM OLD.charge) THEN
    RAISE EXCEPTION 'payment % cannot change what was signed or charged', OLD.id;
  END IF;
  RETURN NEW;
END $$;
