import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import {
  type Compiled,
  type CompileOptions,
  compileProfile,
  createPanels,
  emptyMemory,
  interpret,
  type PanelOptions,
  type Panels,
  type PanelsOptions,
  panelOptions,
  type Reading,
} from '#devices/panels/index.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import type { Signal } from '#site/model/index.ts';

export const presets = fileURLToPath(new URL('../../../config/panels', import.meta.url));
const samples = fileURLToPath(new URL('../../../../shared/data/panel-samples', import.meta.url));
export const samplesMissing = !existsSync(samples);

export const preset = (id: string): unknown => JSON.parse(readFileSync(`${presets}/${id}.json`, 'utf8'));
export const compilePreset = (id: string, options?: CompileOptions): Compiled => compileProfile(preset(id), options);

export interface Sample {
  readonly dir: string;
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  readonly means: Readonly<Record<string, unknown>>;
}

export const sampleFiles = (): string[] =>
  readdirSync(samples).flatMap((name) => (name.endsWith('.jsonl') ? [name.replace('.jsonl', '')] : []));
export const readSamples = (name: string): readonly Sample[] =>
  samplesMissing ? [] : rowsOf(`${samples}/${name}.jsonl`);

/** Messages written for these tests, after the documentation of the bridge, with invented names and values. */
export const fixtures = readdirSync(new URL('./fixtures', import.meta.url)).map((name) => name.replace('.jsonl', ''));
export const readFixture = (id: string): readonly Sample[] =>
  rowsOf(fileURLToPath(new URL(`./fixtures/${id}.jsonl`, import.meta.url)));

const rowsOf = (path: string): readonly Sample[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Sample);

/** What one message says on its own. */
export function readOne(compiled: Compiled, topic: string, payload: string | Uint8Array, retain = false) {
  const bytes = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
  return interpret(compiled, emptyMemory(), { topic, payload: bytes, retain });
}

/** Readings as the words of the sample files, one object for the whole message. */
export function meaning(readings: readonly Reading[]): Record<string, unknown> {
  const said: Record<string, unknown> = {};
  for (const reading of readings) Object.assign(said, meaningOf(reading));
  return said;
}

function meaningOf(reading: Reading): Record<string, unknown> {
  switch (reading.kind) {
    case 'partition': {
      const { kind: _, key, replay: __, context: ___, ...facts } = reading;
      return { partition: key, ...facts, ...(facts.fire === true ? { kind: 'fire' } : {}) };
    }
    case 'zone': {
      const { kind: _, key, replay: __, context: ___, lowBattery, zoneType, ...facts } = reading;
      return { zone: key, ...facts, low_battery: lowBattery, zone_type: zoneType };
    }
    case 'trouble':
      return reading.active ? { trouble: reading.trouble === 'system' ? 'panel' : reading.trouble } : {};
    case 'link':
      return { bridge: reading.status };
    case 'keypad':
      return { keypad: reading.action };
    case 'output':
      return { output: reading.key, on: reading.on };
    case 'report':
      return { contact_id: reading.contactId, sia: reading.sia };
  }
}

export const panel = (given: Record<string, unknown>): PanelOptions => panelOptions.parse(given);

export interface Rig {
  readonly panels: Panels;
  readonly signals: Signal[];
  /** Everything that was logged, as text. */
  readonly logged: () => string;
  readonly lines: string[];
  readonly metrics: Registry;
  stop(): Promise<void>;
}

/** `createPanels` against a real broker; signals are kept in a list. */
export async function startPanels(
  given: Pick<PanelsOptions, 'panels'> & Partial<PanelsOptions> & { url: string; clock?: Clock },
): Promise<Rig> {
  const lines: string[] = [];
  const log: Logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const signals: Signal[] = [];
  const metrics = new Registry();
  const panels = createPanels({
    profiles: [presets],
    connect: { url: given.url },
    siteSlug: 'hq',
    clock: systemClock(),
    log,
    metrics,
    emit: async (more) => {
      signals.push(...more);
    },
    ...given,
  });
  await panels.start(new AbortController().signal);
  return { panels, signals, lines, logged: () => lines.join('\n'), metrics, stop: () => panels.stop() };
}
