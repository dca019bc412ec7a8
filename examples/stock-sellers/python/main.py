"""pip install 'x402[fastapi,evm,extensions]' uvicorn; python main.py"""

import os

import uvicorn
from fastapi import FastAPI, Request, Response
from x402 import x402ResourceServer
from x402.extensions.bazaar import OutputConfig, bazaar_resource_server_extension, declare_discovery_extension
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import payment_middleware, set_settlement_overrides
from x402.mechanisms.evm.exact import ExactEvmServerScheme
from x402.mechanisms.evm.upto import UptoEvmServerScheme

network = os.environ["NETWORK"]
extra = {"name": os.environ.get("TOKEN_NAME", "USDC"), "version": os.environ.get("TOKEN_VERSION", "2")}


def option(scheme: str, amount: str, **method: str) -> dict:
    price = {"amount": amount, "asset": os.environ["ASSET"], "extra": {**extra, **method}}
    return {"scheme": scheme, "network": network, "payTo": os.environ["PAY_TO"], "price": price, "maxTimeoutSeconds": 60}


# URL with the token of a seller's account in its path: https://billing.example/s/<token>
server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
server.register(network, ExactEvmServerScheme())
server.register(network, UptoEvmServerScheme())
server.register_extension(bazaar_resource_server_extension)

routes = {
    "GET /weather": {
        "accepts": [option("exact", "2000"), option("exact", "2000", assetTransferMethod="permit2")],
        "extensions": declare_discovery_extension(output=OutputConfig(example={"celsius": 21})),
    },
    "GET /words": {"accepts": option("upto", "100000", assetTransferMethod="permit2")},
}

app = FastAPI()


@app.middleware("http")
async def pay(request: Request, call_next):
    return await payment_middleware(routes, server)(request, call_next)


@app.get("/weather")
async def weather():
    return {"celsius": 21}


@app.get("/words")
async def words(response: Response, text: str = ""):
    count = len(text.split())
    # 0.1 cents per word.
    set_settlement_overrides(response, {"amount": str(min(count * 1_000, 100_000))})
    return {"words": count}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "4021")))
