import { useState } from 'preact/hooks';
import type { UserEntry } from '#lan/http/index.ts';
import { Accounts } from './accounts.tsx';
import { usePage, useWords } from './context.ts';
import { Badge, Card, Choice, Field, Trouble, useWork } from './parts.tsx';
import { useAsked } from './use-asked.ts';

const roles = ['user', 'owner', 'guard', 'installer', 'auditor'] as const satisfies readonly UserEntry['role'][];
const noCodes = { code: '', duress_code: '', consent: '' };
const empty = { ...noCodes, id: '', name: '', valid_until: '' };

/** What was left empty is not said. */
const filled = (members: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(members).filter(([, text]) => text !== ''));

/** Who has a code on this site, which owners alone see, and who has an account of this page. No code is ever shown. */
export function UsersScreen() {
  const { may } = usePage();
  const { t } = useWords();
  return (
    <>
      <h1>{t('nav.users')}</h1>
      {may('listUsers') && <Users />}
      {may('listPeople') && <Accounts />}
    </>
  );
}

function Users() {
  const { t } = useWords();
  const users = useAsked<{ items: UserEntry[] }>('/api/v1/users');
  return (
    <>
      <p class="hint">{t('users.about')}</p>
      <Trouble error={users.error} />
      {users.value?.items.map((user) => (
        <User key={user.id} user={user} onDone={users.again} />
      ))}
      <Add onDone={users.again} />
    </>
  );
}

function User({ user, onDone }: { user: UserEntry; onDone: () => void }) {
  const { api } = usePage();
  const { t, word } = useWords();
  const [typed, setTyped] = useState('');
  const work = useWork();
  const { id, name, role, now, valid_until: until, source } = user;
  const remove = () =>
    work.run(async () => {
      await api.ask(`/api/v1/users/${encodeURIComponent(id)}`, { method: 'DELETE' });
      onDone();
    });
  return (
    <Card
      title={name}
      aside={<Badge tone={(now ?? 'valid') === 'valid' ? 'good' : 'note'}>{word('user', now ?? 'valid')}</Badge>}
    >
      <p>
        {id}, {word('role', role)}
        {until !== undefined && `, ${t('users.until', { time: until })}`}
      </p>
      {source === 'configuration' && <p class="hint">{t('users.fixed')}</p>}
      {source === 'file' && (
        <>
          <NewCode id={id} />
          <details>
            <summary>{t('users.remove')}</summary>
            <Field
              {...{ name: `remove-${id}`, label: t('users.typeId', { id }), value: typed, autocomplete: 'off' }}
              onInput={setTyped}
            />
            <Trouble error={work.error} />
            <button type="button" disabled={work.busy || typed !== id} onClick={remove}>
              {t('users.remove')}
            </button>
          </details>
        </>
      )}
    </Card>
  );
}

/** The old code counts no more as soon as this one does. */
function NewCode({ id }: { id: string }) {
  const { api } = usePage();
  const { t } = useWords();
  const [codes, setCodes] = useState(noCodes);
  const [done, setDone] = useState(false);
  const work = useWork();
  const change = () =>
    work.run(async () => {
      setDone(false);
      await api.ask(`/api/v1/users/${encodeURIComponent(id)}/code`, { method: 'PUT', body: filled(codes) });
      setCodes(noCodes);
      setDone(true);
    });
  return (
    <details>
      <summary>{t('users.newCode')}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change();
        }}
      >
        <Codes prefix={`code-${id}`} isChange codes={codes} onCodes={(typed) => setCodes({ ...codes, ...typed })} />
        <Trouble error={work.error} />
        <button type="submit" class="main" disabled={work.busy}>
          {t('users.setCode')}
        </button>
        <p role="status">{done && t('users.codeSet')}</p>
      </form>
    </details>
  );
}

/** What is typed of codes; nobody ever sees them again. */
function Codes(props: {
  prefix: string;
  /** There is a duress code that may stay. */
  isChange?: boolean;
  codes: typeof noCodes;
  onCodes: (typed: Partial<typeof noCodes>) => void;
}) {
  const { t } = useWords();
  const { prefix, isChange = false, codes, onCodes } = props;
  const secret = { type: 'password', inputMode: 'numeric', autocomplete: 'off' } as const;
  return (
    <>
      <Field
        {...secret}
        {...{ name: `${prefix}-new`, label: t('users.code'), value: codes.code }}
        onInput={(code) => onCodes({ code })}
      />
      <Field
        {...secret}
        {...{ name: `${prefix}-duress`, label: t('users.duress'), value: codes.duress_code, required: false }}
        hint={t(isChange ? 'users.duressKept' : 'users.duressHint')}
        onInput={(duress) => onCodes({ duress_code: duress })}
      />
      <Field
        {...secret}
        {...{ name: `${prefix}-consent`, label: t('users.consent'), value: codes.consent, required: false }}
        hint={t('users.consentHint')}
        onInput={(consent) => onCodes({ consent })}
      />
    </>
  );
}

function Add({ onDone }: { onDone: () => void }) {
  const { api } = usePage();
  const { t, word } = useWords();
  const [fields, setFields] = useState(empty);
  const [role, setRole] = useState<UserEntry['role']>('user');
  const work = useWork();
  const set = (name: keyof typeof empty) => (value: string) => setFields({ ...fields, [name]: value });
  const add = () =>
    work.run(async () => {
      await api.ask('/api/v1/users', { method: 'POST', body: { ...filled(fields), role } });
      setFields(empty);
      onDone();
    });
  return (
    <Card title={t('users.add')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <Field
          {...{ name: 'user-id', label: t('users.id'), value: fields.id, hint: t('claim.idHint') }}
          onInput={set('id')}
        />
        <Field {...{ name: 'user-name', label: t('users.name'), value: fields.name }} onInput={set('name')} />
        <Choice
          {...{ name: 'user-role', label: t('users.role'), value: role }}
          options={roles.map((one) => [one, word('role', one)])}
          onInput={(next) => setRole(roles.find((one) => one === next) ?? 'user')}
        />
        <Field
          {...{ name: 'user-until', label: t('users.validUntil'), value: fields.valid_until, required: false }}
          hint={t('users.validHint')}
          onInput={set('valid_until')}
        />
        <Codes prefix="user" codes={fields} onCodes={(typed) => setFields({ ...fields, ...typed })} />
        <Trouble error={work.error} />
        <button type="submit" class="main" disabled={work.busy}>
          {t('users.add')}
        </button>
      </form>
    </Card>
  );
}
