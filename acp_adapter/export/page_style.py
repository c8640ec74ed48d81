"""How the HTML page looks, in light and in dark, on a screen and on paper."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1e21; --faint: #6a7079; --line: #dfe2e6; --field: #f5f6f8;
  --you: #eaf1fd; --added: #e2f5e5; --removed: #fce6e6; --link: #1a5fc4; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #17191c; --ink: #e3e5e8; --faint: #959ca6; --line: #33373d;
  --field: #202327; --you: #1e2a3d; --added: #17351f; --removed: #41201f; --link: #84b2f6; --bad: #f2938c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 50rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
article + article { margin-top: 4rem; border-top: 2px solid var(--line); padding-top: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: .85rem; margin: 0 0 .35rem; color: var(--faint); }
h2 time { font-weight: normal; float: right; }
section h1, section h3, section h4 { font-size: 1.1rem; margin: 1rem 0 .4rem; }
.about, .path { color: var(--faint); font-size: .85rem; margin: .4rem 0; overflow-wrap: anywhere; }
section { margin: .9rem 0; overflow-wrap: anywhere; }
section.user { background: var(--you); border-radius: .6rem; padding: .7rem 1rem; }
section.summary { border-left: 3px solid var(--line); padding-left: 1rem; color: var(--faint); }
section p { margin: .5rem 0; }
a { color: var(--link); }
img { max-width: 100%; border-radius: .4rem; }
code, pre { font: .85em/1.45 ui-monospace, Menlo, Consolas, monospace; }
pre { background: var(--field); padding: .6rem .8rem; border-radius: .4rem; overflow-x: auto; white-space: pre;
  max-height: 40rem; overflow-y: auto; }
pre code { font-size: 1em; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; font-size: .92rem; color: var(--faint); }
summary b { color: var(--ink); font-weight: 600; }
.failed { color: var(--bad); font-weight: 600; }
pre.diff { white-space: pre; }
.diff ins, .diff del { text-decoration: none; display: inline-block; min-width: 100%; }
.diff ins { background: var(--added); }
.diff del { background: var(--removed); }
.diff .at { color: var(--faint); }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--faint); }
@media print { main { max-width: none; } pre { white-space: pre-wrap; max-height: none; } }
"""
