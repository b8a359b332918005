import type { CatalogueEntry } from './catalogue.ts';
import { type Compiled, compileProfile, ruleOf } from './compile.ts';
import { fixedLevels, guessVars, type Vars } from './guess.ts';
import { emptyMemory, interpret } from './interpret.ts';
import { profileSchema } from './profile.ts';
import type { Note, Reading } from './reading.ts';
import type { Heard } from './traffic.ts';
import { verdictOf } from './wording.ts';

/** How well one profile reads what was heard. */
export interface Fit {
  readonly id: string;
  readonly title: string;
  /** Values of its variables that fit best. */
  readonly vars: Vars;
  /** Those that differ from the profile's own. */
  readonly changed: Vars;
  readonly compiled: Compiled;
  /** Messages of its topics, and what became of them. */
  readonly heard: number;
  readonly understood: number;
  readonly notUnderstood: number;
  readonly silent: number;
  /** Of the messages that say something, the part that is understood; 0 where there is none. */
  readonly share: number;
  /** Topics that match one of its own, and how many of its own were heard. */
  readonly topics: number;
  readonly rules: number;
  readonly score: number;
  /** Too little to go by: one kind of topic under a guessed base, nothing about a partition or zone, or more read wrongly. */
  readonly weak: boolean;
  /** The topics it understands. */
  readonly own: ReadonlySet<string>;
  readonly readings: readonly Reading[];
  readonly unknown: readonly Extract<Note, { kind: 'unmapped' }>[];
}

const readingCap = 20_000;
const unknownCap = 64;
/** A configuration holds so many panels. */
const bridgeCap = 16;
/** Different messages of a single topic from which on a guessed base is no weak guess any more. */
const manyWords = 4;

/**
 * Profiles by how well they read what was heard, the best first; those that understand nothing are left out. The score
 * sums over different messages: each one understood counts by the fixed levels of its topic, each one that is not counts
 * twice against it. So a profile that knows many of the topics goes before a general one that knows a single one, and one
 * whose values do not fit goes last. Pure.
 */
export function rankProfiles(entries: readonly CatalogueEntry[], heard: readonly Heard[]): readonly Fit[] {
  const topics = [...new Set(heard.map(({ topic }) => topic))];
  const fits = entries.flatMap((entry) => bestFit(entry, heard, topics) ?? []);
  return fits.sort(
    (a, b) =>
      Number(a.weak) - Number(b.weak) ||
      b.score - a.score ||
      b.share - a.share ||
      b.topics - a.topics ||
      (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  );
}

/**
 * Of ranked profiles those that belong to bridges of their own: the first, and each further one that is no weak guess and
 * understands mostly topics which none before it does. A panel and wireless sensors often share a broker.
 */
export function bridgesOf(fits: readonly Fit[]): readonly Fit[] {
  const chosen: Fit[] = [];
  for (const fit of fits) {
    const fresh = [...fit.own].filter((topic) => !chosen.some(({ own }) => own.has(topic))).length;
    if (chosen.length === 0 || (!fit.weak && fresh * 2 > fit.own.size)) chosen.push(fit);
  }
  return chosen.slice(0, bridgeCap);
}

function bestFit(entry: CatalogueEntry, heard: readonly Heard[], topics: readonly string[]): Fit | undefined {
  const parsed = profileSchema.safeParse(entry.json);
  if (entry.compiled === undefined || !parsed.success) return undefined;
  let best: Fit | undefined;
  for (const vars of guessVars(parsed.data, topics, topicsByWords(entry.compiled, heard))) {
    const compiled = compiledWith(entry.json, vars);
    if (compiled === undefined) continue;
    const fit = fitOf(compiled, vars, heard);
    if (fit.understood > 0 && (best === undefined || better(fit, best))) best = fit;
  }
  return best;
}

/** For each variable that is the whole topic of a partition or zone: topics that speak its words, the most fluent first. */
function topicsByWords(compiled: Compiled, heard: readonly Heard[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const [i, { topic, read }] of compiled.profile.in.entries()) {
    const name = /^\$([a-z][a-z0-9_]*)$/.exec(topic)?.[1];
    const own = compiled.rules[i]?.template.text;
    if (name === undefined || own === undefined || !read.some((one) => one.for === 'partition' || one.for === 'zone'))
      continue;
    const counts = new Map<string, number>();
    for (const message of heard) {
      const verdict = verdictOf(interpret(compiled, emptyMemory(), { ...message, topic: own }));
      if (verdict === 'understood') counts.set(message.topic, (counts.get(message.topic) ?? 0) + 1);
    }
    const ranked = [...counts].sort((a, b) => b[1] - a[1]);
    found.set(
      name,
      ranked.slice(0, 8).map(([text]) => text),
    );
  }
  return found;
}

const better = (a: Fit, b: Fit): boolean => (a.weak === b.weak ? a.score > b.score : b.weak);

/** Undefined where the guess makes topics of the profile meet. */
function compiledWith(json: unknown, vars: Vars): Compiled | undefined {
  try {
    return compileProfile(json, { vars });
  } catch {
    return undefined;
  }
}

function fitOf(compiled: Compiled, vars: Vars, heard: readonly Heard[]): Fit {
  const { profile } = compiled;
  const weights = profile.in.map(({ topic }) => fixedLevels(topic, vars, profile.vars) + 0.25);
  const counts = { understood: 0, silent: 0, unknown: 0, dropped: 0, unmatched: 0 };
  const topics = new Set<string>();
  const rules = new Set<number>();
  const readings: Reading[] = [];
  const unknown: Extract<Note, { kind: 'unmapped' }>[] = [];
  let [score, different] = [0, 0];
  for (const message of heard) {
    const found = ruleOf(compiled, message.topic);
    if (found === undefined) continue;
    const rule = compiled.rules.indexOf(found);
    const result = interpret(compiled, emptyMemory(), message);
    const verdict = verdictOf(result);
    counts[verdict] += message.count;
    const weight = weights[rule] ?? 0.25;
    if (verdict === 'understood') {
      score += weight;
      different += 1;
      topics.add(message.topic);
      rules.add(rule);
      if (readings.length < readingCap) readings.push(...result.readings);
    } else if (verdict !== 'silent') score -= 2 * weight;
    for (const note of result.notes) if (note.kind === 'unmapped' && unknown.length < unknownCap) unknown.push(note);
  }
  const notUnderstood = counts.unknown + counts.dropped;
  const told = counts.understood + notUnderstood;
  const changed = Object.fromEntries(Object.entries(vars).filter(([name, value]) => profile.vars[name] !== value));
  const tells = readings.some(
    (one) =>
      (one.kind === 'partition' && one.state !== undefined) ||
      (one.kind === 'zone' && (one.open !== undefined || one.alarm !== undefined)),
  );
  const weak = score <= 0 || !tells || (different < manyWords && rules.size < 2 && Object.keys(changed).length > 0);
  return {
    ...{
      weak,
      own: topics,
      id: profile.id,
      title: profile.title,
      vars,
      changed,
      compiled,
      readings,
      unknown,
      score,
      notUnderstood,
    },
    ...{ understood: counts.understood, silent: counts.silent, heard: told + counts.silent },
    ...{ share: told === 0 ? 0 : counts.understood / told, topics: topics.size, rules: rules.size },
  };
}
