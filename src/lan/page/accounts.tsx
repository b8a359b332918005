import { useState } from 'preact/hooks';
import type { PersonEntry } from '#lan/http/index.ts';
import { usePage, useWords } from './context.ts';
import { Badge, Card, Choice, Field, Trouble, useWork } from './parts.tsx';
import { useAsked } from './use-asked.ts';

const path = '/api/v1/access/people';
const roles = ['operator', 'viewer', 'owner', 'installer'] as const satisfies readonly PersonEntry['role'][];
/** An installer is let in for 30 days at most; somewhat less, since the clocks of phone and bridge may differ. */
const spans = ['1', '7', '29'] as const;
const dayMs = 86_400_000;
const empty = { id: '', name: '', password: '' };

/** Who may log in to this page: added with a first password, let in for a time, removed. */
export function Accounts() {
  const { may } = usePage();
  const { t } = useWords();
  const people = useAsked<{ items: PersonEntry[]; handed_over: string | null }>(path);
  const isOwners = people.value !== undefined && people.value.handed_over !== null;
  return (
    <>
      <h2>{t('accounts.title')}</h2>
      <p class="hint">{t('accounts.about')}</p>
      {people.value?.handed_over === null && <p class="remedy">{t('accounts.handOver')}</p>}
      <Trouble error={people.error} />
      {people.value?.items.map((person) => (
        <Account key={person.id} {...{ person, isOwners }} onDone={people.again} />
      ))}
      {people.value !== undefined && may('addPerson') && <AddAccount isOwners={isOwners} onDone={people.again} />}
    </>
  );
}

const Spans = (props: { name: string; days: string; onDays: (days: string) => void }) => {
  const { t } = useWords();
  return (
    <Choice
      {...{ name: props.name, label: t('accounts.for'), value: props.days, onInput: props.onDays }}
      options={spans.map((days) => [days, t('accounts.days', { count: Number(days) })])}
    />
  );
};

/** By the clock of the bridge, which judges it. */
function useEnd(): (days: string) => string {
  const { feed } = usePage();
  return (days) => new Date((feed.bridgeMs() ?? Date.now()) + Number(days) * dayMs).toISOString();
}

function Account(props: { person: PersonEntry; isOwners: boolean; onDone: () => void }) {
  const { api, self, may } = usePage();
  const { t, word, time } = useWords();
  const { person, isOwners, onDone } = props;
  const { id, name, role, now, valid_until: until } = person;
  const [typed, setTyped] = useState('');
  const [days, setDays] = useState<string>(spans[0]);
  const endOf = useEnd();
  const work = useWork();
  const own = `${path}/${encodeURIComponent(id)}`;
  const limit = (end: string | null) =>
    work.run(async () => {
      await api.ask(own, { method: 'PATCH', body: { valid_until: end } });
      onDone();
    });
  const remove = () =>
    work.run(async () => {
      await api.ask(own, { method: 'DELETE' });
      onDone();
    });
  return (
    <Card title={name} aside={<Badge tone={now === 'valid' ? 'good' : 'note'}>{word('user', now)}</Badge>}>
      <p>
        {id}, {word('role', role)}
        {until !== undefined && `, ${t('users.until', { time: time(until) })}`}
      </p>
      <Trouble error={work.error} />
      {role === 'installer' && isOwners && may('limitPerson') && (
        <>
          <Spans name={`let-in-${id}`} days={days} onDays={setDays} />
          <div class="buttons">
            <button type="button" disabled={work.busy} onClick={() => limit(endOf(days))}>
              {t('accounts.letIn')}
            </button>
            {until !== undefined && (
              <button type="button" disabled={work.busy} onClick={() => limit(null)}>
                {t('accounts.withdraw')}
              </button>
            )}
          </div>
        </>
      )}
      {id !== self.id && may('removePerson') && (
        <details>
          <summary>{t('users.remove')}</summary>
          <Field
            {...{ name: `remove-account-${id}`, label: t('accounts.typeId', { id }), value: typed }}
            autocomplete="off"
            onInput={setTyped}
          />
          <button type="button" disabled={work.busy || typed !== id} onClick={remove}>
            {t('users.remove')}
          </button>
        </details>
      )}
    </Card>
  );
}

function AddAccount({ isOwners, onDone }: { isOwners: boolean; onDone: () => void }) {
  const { api } = usePage();
  const { t, word } = useWords();
  const [fields, setFields] = useState(empty);
  const [role, setRole] = useState<PersonEntry['role']>(isOwners ? 'operator' : 'owner');
  const [days, setDays] = useState<string>(spans[0]);
  const endOf = useEnd();
  const [added, setAdded] = useState<string | undefined>(undefined);
  const work = useWork();
  const set = (member: keyof typeof empty) => (value: string) => setFields({ ...fields, [member]: value });
  const takesEnd = role === 'installer' && isOwners;
  const add = () =>
    work.run(async () => {
      setAdded(undefined);
      const body = { ...fields, role, ...(takesEnd && { valid_until: endOf(days) }) };
      await api.ask(path, { method: 'POST', body });
      setAdded(fields.name);
      setFields(empty);
      onDone();
    });
  return (
    <Card title={t('accounts.add')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <Field
          {...{ name: 'account-id', label: t('login.id'), value: fields.id, hint: t('claim.idHint') }}
          autocomplete="off"
          onInput={set('id')}
        />
        <Field
          {...{ name: 'account-name', label: t('accounts.name'), value: fields.name, autocomplete: 'off' }}
          onInput={set('name')}
        />
        <Choice
          {...{ name: 'account-role', label: t('users.role'), value: role, hint: word('roleMay', role) }}
          options={roles.map((one) => [one, word('role', one)])}
          onInput={(next) => setRole(roles.find((one) => one === next) ?? 'operator')}
        />
        {takesEnd && <Spans name="account-days" days={days} onDays={setDays} />}
        <Field
          {...{ name: 'account-password', type: 'password', label: t('accounts.password'), value: fields.password }}
          {...{ autocomplete: 'new-password', hint: t('accounts.passwordHint') }}
          onInput={set('password')}
        />
        <Trouble error={work.error} />
        <button type="submit" class="main" disabled={work.busy}>
          {t('accounts.add')}
        </button>
        <p role="status">{added !== undefined && t('accounts.added', { name: added })}</p>
      </form>
    </Card>
  );
}
