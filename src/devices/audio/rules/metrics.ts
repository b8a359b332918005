import { Counter, Gauge, type Registry } from 'prom-client';
import type { SelfTestResult } from './self-test.ts';

export interface RuleMetrics {
  rule(outcome: 'played' | 'cooling' | 'refused' | 'unknown_message' | 'no_speaker'): void;
}

/** None of them knows of silent events (safety 4): no rule ever sees one. */
export function ruleMetrics(registry: Registry, tests: () => readonly SelfTestResult[]): RuleMetrics {
  const registers = [registry];
  const rules = new Counter({
    name: 'siteward_audio_rules_total',
    help: 'What came of rules whose event or time has come',
    labelNames: ['outcome'],
    registers,
  });
  new Gauge({
    name: 'siteward_audio_self_test_ok',
    help: '1 where the last test tone was played to its end',
    labelNames: ['speaker'],
    registers,
    collect() {
      this.reset();
      for (const { device_id, ok } of tests()) if (ok !== null) this.set({ speaker: device_id }, ok ? 1 : 0);
    },
  });
  return { rule: (outcome) => rules.inc({ outcome }) };
}
