"""The purchase by the official Python client: pip install 'x402[httpx,evm,extensions]'."""

import asyncio
import json
import os

from eth_account import Account
from x402 import x402Client
from x402.http import decode_payment_response_header
from x402.http.clients.httpx import x402HttpxClient
from x402.mechanisms.evm.signers import EthAccountSignerWithRPC
from x402.mechanisms.evm.upto import UptoEvmScheme


async def main() -> None:
    gateway, network, asset, key = (
        os.environ[name] for name in ("GATEWAY_URL", "NETWORK", "ASSET", "BUYER_PRIVATE_KEY")
    )
    account = Account.from_key(key)
    # The client reads the chain through the gateway. If Permit2 is not approved, it signs a permit with each payment.
    client = x402Client().register(network, UptoEvmScheme(EthAccountSignerWithRPC(account, gateway)))
    client.set_spend_controls(
        {"allowed_assets": [{"network": network, "asset": asset, "max_amount_per_payment": "100000"}]}
    )
    async with x402HttpxClient(client) as http:
        query = {"from": account.address, "to": account.address, "value": "0"}
        response = await http.get(f"{gateway}/v1/preview", params=query)
    answer = response.json()
    if response.status_code != 200:
        raise SystemExit(f"HTTP {response.status_code}: {answer}")
    settled = decode_payment_response_header(response.headers["payment-response"])
    print(json.dumps({"status": answer["status"], "amount": settled.amount, "transaction": settled.transaction}))


asyncio.run(main())
