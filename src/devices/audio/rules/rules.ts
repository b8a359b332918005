import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { BoundedMap } from '#lib/bounded.ts';
import { nameUuid } from '#lib/uuid.ts';
import type { PartitionId, PartitionState, SiteEvent, Stamp } from '#site/model/index.ts';
import { type PlayAnswer, type PlayRequest, raised } from '../engine/index.ts';
import { type Library, type Message, otherLanguages } from '../library/index.ts';
import type { AudioPlan } from '../speakers.ts';
import { evaluate, isOfBurglary, type RulePlay } from './evaluate.ts';
import { mayAlarm } from './kinds.ts';
import type { RuleMetrics } from './metrics.ts';

export interface Rules {
  /** Something was decided that everybody may know. Never throws. */
  decided(event: SiteEvent, partition: PartitionState | undefined): void;
  /** The burglary of a partition was ended or silenced: the next one sounds at once. */
  hushed(partition: PartitionId): void;
  /** The time of a rule by the clock has come. Never throws. */
  due(rule: string): void;
  /** What they play, as far as it is there; `alarm`: what may be raised to an alarm. */
  messages(): readonly { readonly key: string; readonly sha256: string; readonly alarm: boolean }[];
  /** For people: rules that can play nothing. */
  problems(): readonly string[];
}

/** Rules times partitions; the oldest gives way. */
const playedCap = 1_024;
const saidCap = 256;

/** Plays what the rules of the configuration say. */
export function createRules(options: {
  readonly plan: () => AudioPlan;
  /** Undefined before it is read. */
  readonly library: () => Library | undefined;
  readonly play: (request: PlayRequest) => PlayAnswer;
  readonly stamp: () => Stamp;
  readonly metrics: RuleMetrics;
  readonly log: Logger;
}): Rules {
  const { plan, library, play, stamp, metrics, log } = options;
  const played = new BoundedMap<string, number>(playedCap);
  /** Why a rule could not play, until it can: said once, not with each event of a flood. */
  const said = new BoundedMap<string, string>(saidCap);

  function ask(rule: string, id: string, asked: RulePlay): boolean {
    const answer = play({ id, ...asked, requestedBy: `rule:${rule}` });
    if (answer.outcome === 'refused') {
      failed(rule, 'refused', answer.reason);
      return false;
    }
    metrics.rule('played');
    said.delete(rule);
    return true;
  }

  function failed(rule: string, outcome: 'refused' | 'unknown_message' | 'no_speaker', reason: string = outcome): void {
    metrics.rule(outcome);
    if (said.get(rule) === reason) return;
    said.set(rule, reason);
    const message = plan().rules?.find(({ id }) => id === rule)?.play.message;
    log.warn({ rule, message, reason }, 'a rule could not play its message');
  }

  /** What is wrong with a rule must not end the daemon that guards the site. */
  function safely(rule: string | undefined, work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error({ err: error, rule }, 'a rule failed; please report this');
    }
  }

  return {
    decided(event, partition) {
      const { rules = [], speakers, timezone, language } = plan();
      if (rules.length === 0) return;
      safely(undefined, () => {
        const at = stamp();
        const used = speakers.filter(({ enabled }) => enabled);
        const message = (key: string) => messageOf(library(), key, language);
        const around = { timezone, speakers: used, message, played };
        for (const verdict of evaluate(rules, { event, partition, at }, around)) {
          const { rule, outcome } = verdict;
          if (outcome === 'cooling') metrics.rule(outcome);
          else if (outcome !== 'play') failed(rule, outcome);
          else
            safely(rule, () => {
              if (ask(rule, nameUuid(event.event_id, rule), verdict.play)) played.set(verdict.coolKey, at.mono);
            });
        }
      });
    },

    hushed(partition) {
      for (const [key] of [...played.entries()]) if (isOfBurglary(key, partition)) played.delete(key);
    },

    due(id) {
      const { rules = [], speakers, language } = plan();
      const rule = rules.find((one) => one.id === id);
      if (rule === undefined) return;
      safely(id, () => {
        const found = messageOf(library(), rule.play.message, language);
        if (found === undefined) return failed(id, 'unknown_message');
        const { category, ...message } = found;
        const { volume, repeat, speakers: named, category: wanted } = rule.play;
        const used = speakers.filter((one) => one.enabled && named?.includes(one.id) !== false).map((one) => one.id);
        if (used.length === 0) return failed(id, 'no_speaker');
        ask(id, randomUUID(), { message, category: raised(category, wanted), volume, repeat, speakers: used });
      });
    },

    messages() {
      const { rules = [], language } = plan();
      return rules.flatMap((rule) => {
        const found = messageOf(library(), rule.play.message, language);
        if (found === undefined) return [];
        return [{ key: found.key, sha256: found.sha256, alarm: found.category === 'alarm' || mayAlarm(rule) }];
      });
    },

    problems() {
      const known = library();
      if (known === undefined) return [];
      const { rules = [], speakers, language } = plan();
      const isUsed = (id: string) => speakers.some((one) => one.enabled && one.id === id);
      return rules.flatMap(({ id, play: { message, speakers: named } }) => [
        ...(messageOf(known, message, language) === undefined
          ? [`rule ${id}: there is no message "${message}"; import it, or correct the rule`]
          : []),
        ...(named?.some(isUsed) === false
          ? [
              `rule ${id}: none of its speakers is used; only life safety sounds, on all. Enable one, or correct the rule`,
            ]
          : []),
      ]);
    },
  };
}

/** By the id of the service it stands for, or by its key; what is not there in that language, in that of the site, or in English. */
function messageOf(library: Library | undefined, name: string, language = '') {
  for (const one of [name, ...otherLanguages(name, language)]) {
    const found = library?.list().find(({ audio_message_id: id }) => id === one) ?? library?.find(one);
    if (found !== undefined) return ref(found, name);
  }
  return undefined;
}

const ref = ({ key, name, sha256, category }: Message, id: string) => ({ id, key, name, sha256, category });
