import type { SitewardError } from '#errors.ts';

/** What to do about a step that failed at the service, behind what is wrong; empty where the message says it. */
export function whatToDo({ code, facts = {} }: Pick<SitewardError, 'code' | 'facts'>): string {
  const { status, retry_after_ms: waitMs, for_a_person: isForPerson } = facts;
  if (isForPerson === true) return '';
  switch (code) {
    case 'cloud_unreachable':
      if (typeof waitMs === 'number')
        return `. The service asks to be left alone for ${Math.ceil(waitMs / 60_000)} min: run this again then`;
      if (status === 429) return '. Too much is asked of the service: run this again in some minutes';
      return '. Run this again when the service answers: it goes on here';
    case 'cloud_outcome_unknown':
      return '. Run this again: it looks first, and does nothing twice';
    case 'cloud_bad_answer':
      return '. Look for a portal or proxy on the line and at cloud.base_url, then run this again';
    case 'cloud_forbidden':
      return '. Have the operator of the service allow it, then run this again';
    case 'cloud_not_found':
      return '. Compare site.dealer_id and site.id with the service: what they name may have been deleted there';
    case 'cloud_unauthorized':
      return '. Compare the client id and its secret or key with what the operator gave';
    case 'cloud_refused':
      return '. Correct in the answers, or in the configuration, what the service does not take, then run this again';
    default:
      return '';
  }
}
