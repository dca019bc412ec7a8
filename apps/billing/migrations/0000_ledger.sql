CREATE TABLE "idempotency_keys" (
	"key" text PRIMARY KEY NOT NULL,
	"operation" text NOT NULL,
	"input_hash" text NOT NULL,
	"payment_id" text,
	"refusal" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "payment_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "payment_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"payment_id" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"kind" text NOT NULL,
	"from_state" text,
	"to_state" text NOT NULL,
	"reason" text,
	"data" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "payments" (
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "payments_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"origin" text NOT NULL,
	"state" text NOT NULL,
	"network" text NOT NULL,
	"asset" text NOT NULL,
	"payer" text NOT NULL,
	"pay_to" text NOT NULL,
	"facilitator" text NOT NULL,
	"nonce" numeric(78, 0) NOT NULL,
	"maximum" numeric(78, 0) NOT NULL,
	"valid_after" numeric(78, 0) NOT NULL,
	"deadline" numeric(78, 0) NOT NULL,
	"signature" text NOT NULL,
	"charge" numeric(78, 0),
	"route" text,
	"reason" text,
	"authorized_block" bigint NOT NULL,
	"transaction" text,
	"block_number" bigint,
	"block_hash" text,
	"gas_used" numeric(78, 0),
	"fee_paid" numeric(78, 0),
	"created_at" timestamp (3) with time zone NOT NULL,
	"charged_at" timestamp (3) with time zone,
	"submitted_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "payments_sequence_unique" UNIQUE("sequence"),
	CONSTRAINT "payments_authorization_used_once" UNIQUE("network","payer","nonce")
);
--> statement-breakpoint
CREATE TABLE "signed_transactions" (
	"hash" text PRIMARY KEY NOT NULL,
	"payment_id" text,
	"network" text NOT NULL,
	"signer" text NOT NULL,
	"nonce" bigint NOT NULL,
	"raw" text NOT NULL,
	"gas" bigint NOT NULL,
	"max_fee_per_gas" numeric(78, 0) NOT NULL,
	"max_priority_fee_per_gas" numeric(78, 0) NOT NULL,
	"status" text NOT NULL,
	"signed_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "signers" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"next_nonce" bigint NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "signers_network_address_pk" PRIMARY KEY("network","address")
);
--> statement-breakpoint
ALTER TABLE "payment_events" ADD CONSTRAINT "payment_events_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signed_transactions" ADD CONSTRAINT "signed_transactions_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_age" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "payment_events_by_payment" ON "payment_events" USING btree ("payment_id","id");--> statement-breakpoint
CREATE INDEX "payments_not_final" ON "payments" USING btree ("deadline") WHERE "payments"."state" in ('authorized', 'charging', 'submitted');--> statement-breakpoint
CREATE INDEX "payments_open_by_payer" ON "payments" USING btree ("network","payer","asset") WHERE "payments"."state" in ('authorized', 'charging', 'submitted');--> statement-breakpoint
CREATE INDEX "payments_settled_by_payer" ON "payments" USING btree ("network","payer","asset","block_number");--> statement-breakpoint
CREATE INDEX "payments_by_route" ON "payments" USING btree ("route","created_at");--> statement-breakpoint
CREATE INDEX "signed_transactions_by_payment" ON "signed_transactions" USING btree ("payment_id");--> statement-breakpoint
CREATE INDEX "signed_transactions_open" ON "signed_transactions" USING btree ("network","signer","nonce") WHERE "signed_transactions"."status" = 'open';