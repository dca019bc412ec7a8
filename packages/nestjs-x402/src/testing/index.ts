export { FAKE_PAYER, fakePayment, payingFetch, receiptOf } from './fake-buyer.js'
export { type FakeCharge, FakeFacilitator } from './fake-facilitator.js'
export { UnpaidGuard } from './unpaid.guard.js'
