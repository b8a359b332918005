import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { isMissing } from '#lib/system-code.ts';
import { type ArmMode, armModes, type ZoneType } from '#site/model/index.ts';
import { openingTypes } from './codes.ts';
import { type Compiled, compileProfile, invalid } from './compile.ts';
import { createMapping, type Mapping } from './mapping.ts';
import type { PanelOptions } from './options.ts';
import { type Profile, profileSchema, type Target } from './profile.ts';
import { overlap } from './topics.ts';
import { setsField } from './traits.ts';

/** A panel of the configuration with its profile compiled and its numbers mapped. */
export interface BuiltPanel {
  readonly options: PanelOptions;
  readonly compiled: Compiled;
  readonly mapping: Mapping;
}

const fileCap = 256 * 1024;

/**
 * The JSON of a profile from the first directory that has `<id>.json`. Throws `profile_invalid` with the nearest words a
 * technician needs. Reads synchronously: a few small files, at start and reload only.
 */
export function loadProfile(id: string, directories: readonly string[]): unknown {
  if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(id))
    throw invalid(id.slice(0, 32), [{ place: '', problem: 'is no name of a profile' }]);
  for (const directory of directories) {
    let text: string;
    try {
      text = readFileSync(join(directory, `${id}.json`), 'utf8');
    } catch (cause) {
      if (isMissing(cause)) continue;
      throw new SitewardError('profile_invalid', `profile ${id}: the file cannot be read`, {
        facts: { profile: id },
        cause,
      });
    }
    if (text.length > fileCap) throw invalid(id, [{ place: '', problem: `is larger than ${fileCap} bytes` }]);
    return parseProfile(id, text);
  }
  const known = profileIds(directories).join(', ');
  throw invalid(id, [{ place: '', problem: `there is no such profile; there are ${known === '' ? 'none' : known}` }]);
}

function parseProfile(id: string, text: string): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    const [, line, column] = /line (\d+) column (\d+)/.exec(cause instanceof Error ? cause.message : '') ?? [];
    const where = line === undefined ? '' : ` (line ${line}, column ${column})`;
    throw new SitewardError('profile_invalid', `profile ${id}: is not JSON${where}`, { facts: { profile: id }, cause });
  }
  if (typeof json === 'object' && json !== null && 'id' in json && json.id === id) return json;
  throw invalid(id, [{ place: 'id', problem: `must be "${id}", as the file is named` }]);
}

/** What a profile says of how its panel takes commands. */
export interface PanelTraits {
  /** How long it may take to show what it was told, milliseconds. */
  readonly confirmMs?: number;
  readonly changeMode?: false;
  readonly bypassArmed?: false;
  /** The modes it can be armed in from here. */
  readonly modes?: readonly ArmMode[];
}

export function traitsOf(id: string, directories: readonly string[]): PanelTraits {
  try {
    const profile = profileSchema.parse(loadProfile(id, directories));
    const { confirm, change_mode: changeMode, bypass_armed: bypassArmed } = profile;
    return {
      modes: armModes.filter((mode) => profile.out[`arm_${mode}`] !== undefined),
      ...(confirm !== undefined && { confirmMs: confirm.timeout_s * 1000 }),
      ...(changeMode === false && { changeMode }),
      ...(bypassArmed === false && { bypassArmed }),
    };
  } catch {
    // `buildPanels` says what is wrong with it.
    return {};
  }
}

/** The profiles that can be named in the configuration. */
export function profileIds(directories: readonly string[]): string[] {
  const names = directories.flatMap((directory) => {
    try {
      return readdirSync(directory);
    } catch {
      return [];
    }
  });
  return [...new Set(names.flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -5)] : [])))].sort();
}

/**
 * Builds every panel that can be built. What cannot is in `problems` by panel, so that one wrong profile costs one
 * panel; `siteward check` shows the same list before it happens.
 */
export function buildPanels(
  panels: readonly PanelOptions[],
  directories: readonly string[],
): { built: readonly BuiltPanel[]; problems: ReadonlyMap<string, SitewardError> } {
  const built: BuiltPanel[] = [];
  const problems = new Map<string, SitewardError>();
  for (const options of panels) {
    try {
      const panel = buildPanel(options, directories);
      for (const rival of built) {
        const both = shared(panel, rival);
        if (both !== undefined) throw sharedTopics(options.id, rival.options.id, both);
      }
      built.push(panel);
    } catch (error) {
      if (!(error instanceof SitewardError)) throw error;
      problems.set(options.id, error);
    }
  }
  return { built, problems };
}

function buildPanel(options: PanelOptions, directories: readonly string[]): BuiltPanel {
  const json = loadProfile(options.profile, directories);
  const profile = profileSchema.safeParse(json);
  // An invalid profile has no identity to map by; `compileProfile` says what is wrong with it.
  const identity: Profile['identity'] = profile.success ? profile.data.identity : { partition: 'label', zone: 'label' };
  const mapping = createMapping(options, identity);
  const compiled = compileProfile(json, {
    vars: options.vars,
    overrides: options.overrides,
    partitions: [...mapping.partitions.keys()],
    aliases: mapping.aliases,
  });
  return { options, compiled, mapping: { ...mapping, opensOnly: toldByOpening(compiled) } };
}

/** Types of zones whose alarm the panel cannot tell: by no flag, in no report, and by no fire flag of a partition. */
function toldByOpening({ profile }: Compiled): readonly ZoneType[] {
  const sets = (about: Target, field: string) => setsField(profile, about, field);
  if (sets('zone', 'alarm') || profile.in.some(({ read }) => read.some(({ for: about }) => about === 'report')))
    return [];
  // A fire that is told by its detector and by its panel would be two alarms.
  return sets('partition', 'fire') ? openingTypes.filter((type) => type !== 'fire') : openingTypes;
}

/** Two panels that read the same topics would take each other's doors for their own. */
function shared(a: BuiltPanel, b: BuiltPanel): readonly [string, string] | undefined {
  for (const { template: one } of a.compiled.rules) {
    const other = b.compiled.rules.find(({ template }) => overlap(one, template));
    if (other !== undefined) return [one.text, other.template.text];
  }
  return undefined;
}

const sharedTopics = (panel: string, other: string, [mine, theirs]: readonly [string, string]) =>
  new SitewardError(
    'profile_invalid',
    `panel ${panel}: reads the same topics as panel ${other} (${mine} and ${theirs}); give each its own base topic with vars`,
    { facts: { panel, other, place: 'vars' } },
  );
