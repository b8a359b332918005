import type { Change, Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { DangerPort } from '#lan/http/index.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { Note } from './audit-wiring.ts';
import type { ConfigSaver } from './config-saver.ts';
import { mustBeNamed } from './must-be-named.ts';

const action = 'cloud_forgotten';

/** The section, and what has no effect without it: with that left in, the file would be wrong and nothing could be forgotten. */
const forgotten: readonly Change[] = [
  { do: 'drop', section: 'cloud' },
  { do: 'set', section: 'supervision', members: { cloud: null } },
  { do: 'set', section: 'verification', members: { contacts: null } },
];

/**
 * Takes the cloud and the secrets siteward keeps of it out of the configuration. Events that wait for it stay in the outbox. What is
 * refused is on record as well as what is done.
 */
export function forgetCloud(settings: () => Settings, saver: ConfigSaver, note: Note): DangerPort['forgetCloud'] {
  return async (confirm, by, signal) => {
    try {
      mustBeNamed(settings(), confirm);
      if (settings().cloud === undefined)
        throw new SitewardError('danger_refused', 'no cloud is configured: there is nothing to forget');
    } catch (error) {
      if (error instanceof SitewardError) await note(auditNotes.configRefused(by, action, ['cloud'], error.code));
      throw error;
    }
    return saver.save({ action, changes: forgotten, dryRun: false }, by, signal);
  };
}
