import type { Outcome } from './run.ts';

export interface ReportPicture {
  readonly id: string;
  readonly name: string;
  readonly jpeg?: Uint8Array;
  /** Why there is none. */
  readonly why?: string;
}

type Rows = readonly (readonly string[])[];

export interface Report {
  /** On the clocks of the site, as every time here. */
  readonly at: string;
  readonly timezone: string;
  readonly facts: Rows;
  /** What is not well now, or not as well as it should. */
  readonly notWell: Rows | string;
  readonly panels: Rows;
  readonly cameras: Rows | string;
  /** A text says why there are none. */
  readonly devices: Rows | string;
  readonly users: Rows | string;
  readonly keys: Rows | string;
  readonly zones: Rows;
  readonly speakers: Rows;
  readonly pictures: readonly ReportPicture[];
  readonly steps: readonly Outcome[];
}

/** One file that takes nothing from elsewhere. Pure; everything that came from outside is escaped. */
export function reportHtml(report: Report): string {
  const { at, timezone, facts, steps } = report;
  const [missing, left] = [
    steps.filter(({ state }) => state !== 'done' && state !== 'skipped'),
    steps.filter(({ state }) => state === 'skipped'),
  ];
  const ways = (some: readonly Outcome[], none: string) =>
    some.length === 0
      ? `<p>${none}</p>`
      : table(
          ['Step', 'Why', 'How to do it later'],
          some.map(({ title, words, later }) => [title, words, later]),
        );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>Commissioning report ${escaped(at.slice(0, 10))}</title>
<style>
body { font: 11pt/1.4 system-ui, sans-serif; max-width: 56em; margin: 2em auto; padding: 0 1em; color: #111; background: #fff }
div { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { border: 1px solid #bbb; padding: .3em .5em; text-align: left; vertical-align: top; overflow-wrap: break-word; max-width: 24em }
.steps td:nth-child(2), .steps td:nth-child(4), th { white-space: nowrap }
figure { display: inline-block; width: 30%; min-width: 15em; margin: .5em 1%; vertical-align: top } img { width: 100%; height: auto }
.notice { border: 2px solid #a00; padding: .5em } .sign { height: 4em; width: 33% }
@media print { h2 { break-after: avoid } figure, tr { break-inside: avoid } }
</style>
</head>
<body>
<h1>Commissioning report</h1>
<p>Made by siteward at ${escaped(at)}. Times are those of ${escaped(timezone)}, those that end with Z are UTC.</p>
<p class="notice">It holds pictures and names of people: personal data. Give it only to whom it concerns, and delete it where it is no longer needed.</p>
<h2>Site</h2>
${table(undefined, facts)}
<h2>What is not well now</h2>
${tableOr(['What', 'State', 'Seen', 'What it means', 'What to do'], report.notWell, 'Nothing: siteward doctor found all well.')}
<h2>Missing</h2>
${ways(missing, 'Nothing.')}
<h2>Left out</h2>
${ways(left, 'Nothing.')}
<h2>Steps</h2>
${table(
  ['Step', 'State', 'Result', 'When'],
  steps.map(({ title, state, words, at: when }) => [title, states[state], words, when]),
  'steps',
)}
<h2>Devices at the service</h2>
${tableOr(['Id', 'External id', 'Name', 'Type', 'Zones'], report.devices)}
<h2>Zones</h2>
${tableOr(['Number', 'Name', 'Type', 'Partitions', 'Source', 'Cameras'], report.zones)}
<h2>Panels</h2>
${tableOr(['Id', 'Profile', 'Now'], report.panels)}
<h2>Cameras</h2>
${tableOr(['Id', 'Name', 'Maker and model', 'Serial number', 'Firmware', 'Address', 'Now'], report.cameras)}
${report.pictures.map(figure).join('\n')}
<h2>Speakers</h2>
${tableOr(['Id', 'Name', 'Driver', 'In use', 'Now'], report.speakers)}
<h2>People</h2>
${tableOr(['Id', 'Name', 'Role', 'Valid', 'Code'], report.users)}
<h2>API keys of programs on the network</h2>
${tableOr(['Id', 'Name', 'Scopes', 'Account', 'Now'], report.keys)}
<h2>Signatures</h2>
<div><table><tr><th class="sign">Installer, date</th><th class="sign">Owner, date</th><th class="sign">Place</th></tr></table></div>
</body>
</html>
`;
}

const states: Readonly<Record<Outcome['state'], string>> = {
  done: 'done',
  skipped: 'left out',
  planned: 'planned',
  open: 'open',
  waiting: 'waits',
  failed: 'failed',
};

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

function table(titles: readonly string[] | undefined, rows: Rows, name?: string): string {
  const head = titles === undefined ? '' : `<tr>${titles.map((title) => `<th>${escaped(title)}</th>`).join('')}</tr>\n`;
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`);
  return `<div><table${name === undefined ? '' : ` class="${name}"`}>\n${head}${body.join('\n')}\n</table></div>`;
}

function tableOr(titles: readonly string[], rows: Rows | string, none = 'None.'): string {
  if (typeof rows === 'string') return `<p>Not known: ${escaped(rows)}</p>`;
  return rows.length === 0 ? `<p>${escaped(none)}</p>` : table(titles, rows);
}

function figure({ id, name, jpeg, why = '' }: ReportPicture): string {
  const caption = `<figcaption>${escaped(id)}: ${escaped(name)}</figcaption>`;
  if (jpeg === undefined) return `<figure><p>No picture: ${escaped(why)}</p>${caption}</figure>`;
  return `<figure><img alt="${escaped(name)}" src="data:image/jpeg;base64,${Buffer.from(jpeg).toString('base64')}">${caption}</figure>`;
}
