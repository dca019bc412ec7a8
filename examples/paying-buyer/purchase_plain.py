"""The purchase by the official Python client at its smallest: pip install 'x402[evm,requests]'."""

import json
import os

from eth_account import Account
from x402 import x402ClientSync
from x402.http import decode_payment_response_header
from x402.http.clients.requests import x402_requests
from x402.mechanisms.evm.upto import UptoEvmScheme

gateway, network, asset, key = (os.environ[name] for name in ("GATEWAY_URL", "NETWORK", "ASSET", "BUYER_PRIVATE_KEY"))
account = Account.from_key(key)
client = x402ClientSync().register(network, UptoEvmScheme(account))
client.set_spend_controls(
    {"allowed_assets": [{"network": network, "asset": asset, "max_amount_per_payment": "100000"}]}
)
query = {"from": account.address, "to": account.address, "value": "0"}
# Its offer has no extensions; for any other the client loads those of its own that it knows, and what they need.
with x402_requests(client) as http:
    response = http.get(f"{gateway}/v1/preview/plain", params=query)
answer = response.json()
if response.status_code != 200:
    raise SystemExit(f"HTTP {response.status_code}: {answer}")
settled = decode_payment_response_header(response.headers["payment-response"])
print(json.dumps({"status": answer["status"], "amount": settled.amount, "transaction": settled.transaction}))
