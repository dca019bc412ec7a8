#!/usr/bin/env bash
# The purchase with curl and jq. sign.ts holds the key and signs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
address=${BUYER_ADDRESS:?the address of BUYER_PRIVATE_KEY}
url="$GATEWAY_URL/v1/preview?from=$address&to=$address&value=0"

header() { tr -d '\r' | sed -n "s/^$1: //ip"; }

payment=$(curl -sS -D - -o /dev/null "$url" | header payment-required | node "$here/dist/sign.js")
answer=$(curl -sS -D - "$url" -H "PAYMENT-SIGNATURE: $payment")
settled=$(header payment-response <<<"$answer" | base64 -d)
body=$(tail -n 1 <<<"$answer")
jq -cn --argjson answer "$body" --argjson settled "$settled" \
  '{status: $answer.status, amount: $settled.amount, transaction: $settled.transaction}'
