// Loaded before everything else in a role process: its wall clock is off by SKEW_MS. The monotonic clock is not.
const off = Number(process.env.SKEW_MS)
const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + off)
    else super(...given)
  }
  static now() {
    return RealDate.now() + off
  }
}
