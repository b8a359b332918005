import { SitewardError } from '#errors.ts';
import type { AuditPort, InputsPort } from './audit-port.ts';

/** An empty log that nobody may see more of. */
export function fakeAudit(replaced: Partial<AuditPort> = {}): AuditPort {
  return {
    open: async () => {
      throw new SitewardError('auditor_needed', 'the code is not that of an auditor');
    },
    entries: async () => ({ items: [], next: null }),
    verify: async () => ({ done: true, walk: null, entries: 0, at: null, anew: [], broken: null }),
    export: async () => ({ items: [], base: null }),
    exported: async () => {},
    ...replaced,
  };
}

export function fakeInputs(lines: readonly string[] = []): InputsPort {
  return { lines: async () => ({ items: [...lines], next: null }) };
}
