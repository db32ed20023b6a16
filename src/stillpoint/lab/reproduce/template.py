"""The page of a reproduction; jinja2, kept as text so that the package needs no data files."""

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{ title }}: stillpoint reproduce</title>
<style>
:root { --page: #fdfdfc; --ink: #222629; --soft: #5c656c; --line: #dfe3e6; --card: #f5f6f5;
  --good: #00704f; --bad: #b3261e; --link: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181b; --ink: #e4e7e9; --soft: #a3acb3; --line: #30383e; --card: #1c2226;
    --good: #4cc38a; --bad: #ff8a80; --link: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1.1rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .8rem; padding-top: .3rem; }
sub, sup { font-size: .75em; line-height: 0; }
p { max-width: 50rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: 1.2rem 0; font-size: .95rem; }
a { color: var(--link); }
code { font-size: .92em; background: var(--card); padding: .1em .35em; border-radius: 4px; }
.lead { font-size: 1.15rem; font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
.soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; table-layout: fixed; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--line);
  padding: .35rem .6rem .35rem 0; }
td { vertical-align: top; border-bottom: 1px solid var(--line); padding: .6rem .8rem .6rem 0; overflow-wrap: anywhere; }
th:nth-child(1) { width: 31%; } th:nth-child(2) { width: 34%; } th:nth-child(3) { width: 4.6rem; }
td.ratio { font-variant-numeric: tabular-nums; }
.mark { font-weight: 700; margin-right: .35rem; }
.name { font-weight: 600; }
.says { display: block; margin-top: .2rem; }
.value { font-variant-numeric: tabular-nums; font-weight: 600; }
details { margin-top: .35rem; } summary { cursor: pointer; color: var(--link); }
details ul { margin: .3rem 0 0; padding-left: 1.1rem; }
figure { margin: 1.2rem 0 2.4rem; padding: 1rem; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
figure svg { display: block; width: 100%; height: auto; max-width: 60rem; margin: 0 auto; }
figure.narrow svg { max-width: 44rem; }
figure h3 { margin: 0 0 .8rem; font-size: 1.05rem; }
figcaption { margin-top: .8rem; color: var(--soft); max-width: 50rem; }
@media (max-width: 44rem) {
  h1 { font-size: 1.55rem; }
  thead { display: none; }
  table, tbody, tr, td { display: block; width: 100%; }
  tr { border: 1px solid var(--line); border-radius: 10px; background: var(--card); margin-bottom: .9rem; padding: .5rem .8rem; }
  td { border: 0; padding: .25rem 0; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
  td.empty { display: none; }
  figure { padding: .6rem; }
  .scroll { overflow-x: auto; }
  .scroll svg { min-width: 34rem; }
}
</style>
</head>
<body>
<h1>{{ title }}</h1>
<p class="lead {{ 'good' if result.holds else 'bad' }}">{{ summary }}</p>
<p class="soft">{% for part in intro %}
{%- if loop.index0 % 2 %}<code>{{ part }}</code>{% else %}{{ part }}{% endif %}{% endfor %}</p>
<nav>{% for section in sections %}<a href="#s{{ loop.index }}">{{ section }}</a>{% endfor %}<a href="#figures">Figures</a></nav>
{% for section in sections %}
<h2 id="s{{ loop.index }}">{{ section }}</h2>
<table>
<thead><tr><th>claim</th><th>measured, worst case</th><th>ratio</th><th>erratum; as printed</th></tr></thead>
<tbody>
{% for row in result.rows if row.section == section %}
<tr>
<td><span class="mark {{ 'bad' if not row.stands else 'good' if row.could_fail else 'soft' }}">{{ row | mark }}</span>
<span class="name">{{ row.name }}</span>
<span class="says">{{ row.says | maths }}</span></td>
<td>{% if row.worst %}<span class="value {{ '' if row.holds else 'bad' }}">{{ row.worst | compared }}</span>
{{ row.worst.where | maths }}
{% endif %}{% if row.vacuous %}<span class="soft">Vacuous here: {{ row.vacuous | maths }}</span>
{% endif %}{% if row.note %}<span class="{{ 'soft' if row.holds else 'bad' }}">{{ row.note | maths }}</span>{% endif %}
<details><summary>{{ row.cases | length }} case{{ '' if row.cases | length == 1 else 's' }}</summary>
<p class="soft">{{ row.on | maths }}</p>
<ul>{% for case in worst(row.cases) %}
<li><span class="value">{{ case | compared }}</span> {{ case.where | maths }}</li>{% endfor %}</ul>
<p class="soft">Control: {{ row | control | maths }}</p>
{% if row.numbers %}<p class="soft">{{ row.numbers | numbers | maths }}</p>{% endif %}
</details></td>
<td class="ratio{{ ' empty' if (row.worst | ratio) == '–' }}" data-label="ratio">{{ row.worst | ratio }}</td>
<td{% if not row.erratum and not row.printed %} class="empty"{% endif %}>{{ row.erratum | maths }}
{% if row.worst_printed %}{% set case = row.worst_printed %}<br>As printed: <span class="value {{ '' if case.holds else 'bad' }}">
{{- 'holds' if case.holds else 'fails' }}, {{ case | compared }}</span> {{ case.where | maths }}{% endif %}</td>
</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
<h2 id="figures">Figures</h2>
{% for picture in pictures %}
<figure id="{{ picture.name }}"{% if picture.name in ('dimension', 'cost') %} class="narrow"{% endif %}>
<h3>{{ picture.title | maths }}</h3>
<div class="scroll" role="img" aria-label="{{ picture.title }}">{{ drawings[picture.name] | safe }}</div>
<figcaption>{{ caption(picture) | maths }}</figcaption>
</figure>
{% endfor %}
</body>
</html>
"""
