"""Purchases by the official Python client at its smallest: pip install 'x402[evm,requests]'. `purchase_plain.py simulate` buys the other route."""

import json
import os
import sys

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
call = {"from": account.address, "to": account.address}
asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_simulateV1", "params": [{"blockStateCalls": [{"calls": [call]}]}]}
# These offers have no extensions. For offers that have any, the client loads all of its extensions and their dependencies.
with x402_requests(client) as http:
    if sys.argv[1:] == ["simulate"]:
        response = http.post(f"{gateway}/v1/simulate/plain", json=asked)
    else:
        response = http.get(f"{gateway}/v1/preview/plain", params=call)
answer = response.json()
if response.status_code != 200:
    raise SystemExit(f"HTTP {response.status_code}: {answer}")
simulated = answer["result"][0]["calls"][0]["status"] if "result" in answer else answer["status"]
status = "success" if simulated in ("0x1", "success") else simulated
settled = decode_payment_response_header(response.headers["payment-response"])
print(json.dumps({"status": status, "amount": settled.amount, "transaction": settled.transaction}))
