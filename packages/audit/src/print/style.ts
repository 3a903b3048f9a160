/** The style of the HTML report; its colours are distinguishable in light and in dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ink: #1c1f24; --soft: #5b6470; --paper: #ffffff; --panel: #f4f5f7; --line: #d8dce2;
  --good: #1a6e3c; --bad: #b3261e; --unsure: #8a5a00; --fetch: #3566b0; --robots: #7a4fa3; --mark: #fbe3e1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e8eb; --soft: #a3abb6; --paper: #14171b; --panel: #1e2228; --line: #343a43;
    --good: #6fcf97; --bad: #ff8a80; --unsure: #f2c46d; --fetch: #8ab4f8; --robots: #cfa9f0; --mark: #4a2320;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 26px; margin: 0 0 8px; }
h2 { font-size: 18px; margin: 32px 0 8px; border-bottom: 1px solid var(--line); padding-bottom: 4px; }
p { margin: 4px 0; }
.verdict { font-size: 19px; font-weight: 600; }
.verdict.clean { color: var(--good); } .verdict.violations { color: var(--bad); } .verdict.partly-judged { color: var(--unsure); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
.n { white-space: nowrap; font-variant-numeric: tabular-nums; }
.bad { color: var(--bad); font-weight: 600; }
code, pre, time { font-family: ui-monospace, monospace; font-size: 13px; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 8px 12px; margin: 6px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.at, .agent, time, footer { color: var(--soft); }
mark { background: var(--mark); color: inherit; }
.moments > li { margin-bottom: 14px; }
details { margin: 6px 0; } summary { cursor: pointer; }
figure { margin: 0 0 14px; } figcaption { font-size: 13px; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: 44px; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; }
svg .page { fill: var(--fetch); } svg .robots { fill: var(--robots); } svg .found { fill: var(--bad); }
.legend span { margin-right: 16px; white-space: nowrap; } .legend svg { display: inline-block; width: 12px; height: 12px; border: 0; vertical-align: -1px; background: none; }
.ends { display: flex; justify-content: space-between; font-size: 12px; color: var(--soft); }
@media print { details > * { display: block; } }
`
