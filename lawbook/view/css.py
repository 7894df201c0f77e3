"""How the report looks: one style sheet, light and dark, with whatever fonts the reader's machine has."""

STYLE = """
:root{--back:#fbfaf8;--card:#fff;--ink:#1d2330;--dim:#6b7280;--line:#e5e2dc;--good:#15803d;--bad:#c0264b;--busy:#0e7490;--ask:#a16207}
@media (prefers-color-scheme:dark){:root{--back:#12151c;--card:#1a1f29;--ink:#e6e9ef;--dim:#98a1b0;--line:#2b3240;--good:#4ade80;
--bad:#fb7185;--busy:#22d3ee;--ask:#facc15}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:980px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:1.5rem;margin:.2em 0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.2em 0 .6em}p{margin:.3em 0;overflow-wrap:anywhere}
.brand{letter-spacing:.18em;text-transform:uppercase;font-size:.75rem;color:var(--dim)}.dim,small,figcaption,footer{color:var(--dim)}
.outcome{font-size:1.05rem}.outcome b{padding:.1em .6em;border-radius:99px;margin-right:.4em;color:var(--back)}
.outcome.good b{background:var(--good)}.outcome.bad b{background:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(120px,1fr));gap:10px;margin:1.4em 0 0}
.tiles div{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 12px}
.tiles dt{font-size:.75rem;color:var(--dim)}.tiles dd{margin:0;font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th{text-align:left;font-weight:500;color:var(--dim)}
td,th{padding:4px 14px 4px 0;border-bottom:1px solid var(--line);white-space:nowrap}td:nth-child(4){width:55%}
.bar{position:relative;height:12px;background:var(--line);border-radius:6px}
.bar b{position:absolute;inset:0 auto 0 0;background:var(--busy);border-radius:6px;min-width:3px}
.bar i{position:absolute;top:-3px;height:18px;width:2px;background:var(--ink)}
ol,ul{list-style:none;margin:0;padding:0}ol{border-left:2px solid var(--line);margin-left:52px}
ol>li{position:relative;padding:7px 0 7px 22px}
ol>li::before{content:"";position:absolute;left:-6px;top:15px;width:10px;height:10px;border-radius:50%;background:var(--dim)}
ol>li.good::before{background:var(--good)}ol>li.bad::before{background:var(--bad)}ol>li.busy::before{background:var(--busy)}
ol>li.ask::before{background:var(--ask)}
.at{position:absolute;left:-60px;width:44px;text-align:right;color:var(--dim);font-size:.85rem;font-variant-numeric:tabular-nums}
.why{white-space:pre-wrap;color:var(--bad)}
.rules{font-size:.92rem;margin:.3em 0}.rules li{overflow-wrap:anywhere}.rules .new,.rules .new b,pre .new{color:var(--good)}
.rules .gone{text-decoration:line-through}.rules .gone,pre .gone{color:var(--bad)}.rules .said{color:var(--ask)}
pre .at{position:static;color:var(--busy);font-size:inherit}pre .file{font-weight:700}
pre{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 14px;overflow-x:auto;white-space:pre;
font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;unicode-bidi:plaintext}
pre.book{white-space:pre-wrap;font-size:13.5px}summary{cursor:pointer;color:var(--dim)}
.boards{display:flex;flex-wrap:wrap;gap:16px;margin:.5em 0}figure{margin:0}figcaption{font-size:.8rem}
.board{position:relative;border-radius:6px;overflow:hidden;border:1px solid var(--line)}
.board img,.board svg{position:absolute;inset:0;width:100%;height:100%}.board img{image-rendering:pixelated}
.wrong{fill:#ff005a;fill-opacity:.28;stroke:#ff005a;stroke-width:2px;vector-effect:non-scaling-stroke}
polyline{fill:none;vector-effect:non-scaling-stroke;stroke-linecap:round;stroke-linejoin:round}
.under{stroke:#000;stroke-opacity:.55;stroke-width:6px}.way{stroke:#fff;stroke-width:3px;stroke-dasharray:.1 7}
footer{margin-top:3em;border-top:1px solid var(--line);padding-top:1em;font-size:.85rem}code{overflow-wrap:anywhere}
"""
