import { audit } from './audit.ts';
import { emit } from './events.ts';
import type { ConflictNews } from './types.ts';
import type { Work } from './work.ts';

const because: Readonly<Record<ConflictNews['reason'], { readonly code: string; readonly text: string }>> = {
  waited: {
    code: 'STALE_REMOTE',
    text: 'it waited while nobody was looking, or is older than what was read since; neither is ever done',
  },
  newer_local_change: { code: 'NEWER_LOCAL_CHANGE', text: 'the site was changed after it, or at the same time' },
  echo: {
    code: 'ECHO',
    text: 'it may be a write of this bridge that arrived only now, or a copy from before its last one',
  },
  answer_lost: { code: 'ANSWER_LOST', text: 'it changed while a write of this bridge had no answer' },
  refused: { code: 'REFUSED', text: 'the site refused it' },
  unanswered: { code: 'UNANSWERED', text: 'the site did not answer it in time' },
};

/**
 * The cloud said one thing and the site does not do it: an event for the operator, who may press again, and one audit
 * entry (C5, C9). What the gate refused stands in the audit log already.
 */
export function armingConflict(work: Work, { reason, cloud, local, code }: ConflictNews): void {
  const { code: why, text } = because[reason];
  const named = code ?? why;
  work.rules.add('C5');
  emit(work, {
    class: 'trouble',
    kind: 'arming_conflict',
    status: 'active',
    lane: 'trouble',
    source: 'cloud',
    evidence: [{ cloud, local, reason, code: named }],
    detail: `The cloud said ${cloud}, the site stays ${local}: ${text} (${named}). The cloud has still to be told the truth.`,
    signalToStation: false,
    toCloud: true,
    media: [],
  });
  if (reason === 'refused') return;
  audit(work, {
    kind: 'conflict',
    source: 'cloud',
    client_id: 'cloud-sync',
    target: 'all',
    action: cloud === 'armed' ? 'arm' : 'disarm',
    outcome: reason === 'newer_local_change' ? 'superseded' : 'refused',
    reason: named,
    after: local,
  });
}
