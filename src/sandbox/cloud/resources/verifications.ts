import { instant, type VerificationResponse, verificationOperations } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { badField, isReply, notFound, onSite, type Params } from '../access.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import type { SiteRow, VerificationRow } from '../world/rows.ts';

/** How far the answering clock may be ahead, milliseconds (S-152). */
const toleranceMs = 5 * 60_000;

export function verificationsResource(state: CloudState): Resource {
  const { world } = state;
  /** Unknown, of another site, or expired by the service's clock: all the same 404 (S-151, S-152). */
  const find = (params: Params, site: SiteRow): VerificationRow | Reply => {
    const found = world.verifications.get((params.verificationId ?? '').toLowerCase());
    const open = found?.site_id === site.site_id && state.now() < Date.parse(found.expires_at);
    return open ? found : notFound('open verification');
  };
  /** The same or another answer again counts; the last one wins, and each is logged (S-153). */
  const answer = onSite(state, ({ params, body }: VerificationCall, site) => {
    const verification = find(params, site);
    if (isReply(verification)) return verification;
    const { contact_id, action } = body;
    if (world.contacts.get(contact_id)?.site_id !== site.site_id) {
      return badField('contact_id', 'is no contact of this site');
    }
    const respondedAt = instant(body.responded_at);
    if (!(respondedAt >= 0)) return badField('responded_at', 'lies before 1970');
    if (respondedAt > state.now() + toleranceMs) return badField('responded_at', 'lies in the future');
    const answer = { contact_id, action, responded_at: new Date(respondedAt).toISOString() };
    world.verifications.put({ ...verification, answer });
    const description = `verification ${verification.verification_id}: ${action} by contact ${contact_id}`;
    world.note(site.site_id, { type: 'alarm_verification', description, at: state.time() });
    return { status: 200, body: { verification_id: verification.verification_id, ...answer } };
  });
  return partnerResource(
    state,
    verificationOperations,
    { answerVerification: answer, respondVerification: answer },
    (params, _, site) => (site === undefined ? undefined : find(params, site)),
  );
}

type SiteCall = Parameters<ReturnType<typeof onSite>>[0];
type VerificationCall = SiteCall & { readonly params: Params; readonly body: VerificationResponse };
