CREATE TABLE "settlement_items" (
	"hash" text NOT NULL,
	"item" integer NOT NULL,
	"payment_id" text NOT NULL,
	CONSTRAINT "settlement_items_hash_item_pk" PRIMARY KEY("hash","item")
);
--> statement-breakpoint
ALTER TABLE "settlement_items" ADD CONSTRAINT "settlement_items_hash_signed_transactions_hash_fk" FOREIGN KEY ("hash") REFERENCES "public"."signed_transactions"("hash") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "settlement_items" ADD CONSTRAINT "settlement_items_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "settlement_items_by_payment" ON "settlement_items" USING btree ("payment_id");--> statement-breakpoint
-- What was there before: each transaction settled one payment, or filled a nonce.
INSERT INTO "settlement_items" SELECT "hash", 0, "payment_id" FROM "signed_transactions" WHERE "payment_id" IS NOT NULL;--> statement-breakpoint
ALTER TABLE "signed_transactions" DROP CONSTRAINT "signed_transactions_payment_id_payments_id_fk";--> statement-breakpoint
DROP INDEX "signed_transactions_by_payment";--> statement-breakpoint
ALTER TABLE "signed_transactions" DROP COLUMN "payment_id";--> statement-breakpoint
ALTER TABLE "gas" ADD COLUMN "item" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "gas" DROP CONSTRAINT "gas_network_transaction_block_hash_entry_pk";--> statement-breakpoint
ALTER TABLE "gas" ADD CONSTRAINT "gas_network_transaction_block_hash_item_entry_pk" PRIMARY KEY("network","transaction","block_hash","item","entry");--> statement-breakpoint
CREATE TRIGGER settlement_items_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "settlement_items"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
