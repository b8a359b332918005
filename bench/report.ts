import type { Figure, Measurement } from './figure.ts';
import type { Machine } from './machine.ts';

export interface Result {
  readonly measurement: Measurement;
  readonly figures: readonly Figure[];
  /** Load of the minute before and of the minute at its end. */
  readonly load: readonly [before: number, after: number];
}

export function textTable({ measurement, figures, load }: Result): string {
  const rows = figures.map((figure) => [figure.name, shown(figure), goalOf(figure)] as const);
  const width = Math.max(...rows.map(([name]) => name.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length));
  const lines = rows.map(([name, value, goal]) =>
    `  ${name.padEnd(width)}  ${value.padStart(valueWidth)}  ${goal}`.trimEnd(),
  );
  return `\n${measurement.title} (load ${load[0]} to ${load[1]})\n${lines.join('\n')}\n`;
}

/** docs/performance.md: what was measured now, and of the page `before` the sections of other measurements. */
export function page(options: {
  machine: Machine;
  results: readonly Result[];
  all: readonly Measurement[];
  before: string;
}): string {
  const { cpu, cores, memoryGiB, kernel, disk, node } = options.machine;
  const kept = new Map(
    options.before.split(/^(?=## )/m).map((text) => [/^## (.*)$/m.exec(text)?.[1], `\n${text.trimEnd()}\n`]),
  );
  const sections = options.all.map(({ title, name }) => {
    const result = options.results.find(({ measurement }) => measurement.name === name);
    return result === undefined ? (kept.get(title) ?? '') : section(result);
  });
  return `# Performance

Written by \`npm run bench\`, which measures all of this anew in about three quarters of an hour; do not edit. \`npm run bench -- --only NAME\`
measures one section and writes nothing, with \`--write\` that section; \`--json\` prints JSON.

Machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB; ${kernel}; ${disk}; Node ${node}. It is shared with other work, so each section
names the load average before and after it; ratios compare things measured in turns in the same run.
${sections.join('')}`;
}

function section({ measurement, figures, load }: Result): string {
  const { name, title, about, remark } = measurement;
  const rows = figures.map((figure) => `| ${figure.name} | ${shown(figure)} | ${goalOf(figure)} |`);
  return `
## ${title}

\`npm run bench -- --only ${name}\`, load ${load[0]} to ${load[1]}.

${about}

| | measured | |
|---|---|---|
${rows.join('\n')}
${remark === undefined ? '' : `\n${remark}\n`}`;
}

const shown = ({ value, unit }: Figure): string => `${value.toLocaleString('en-US')} ${unit}`;

function goalOf({ ratio, goal, met }: Figure): string {
  const share = ratio === undefined ? '' : `ratio ${ratio}`;
  const aim = goal === undefined ? '' : `goal: ${goal}${met === undefined ? '' : met ? ', met' : ', missed'}`;
  return [share, aim].filter((part) => part !== '').join('; ');
}
