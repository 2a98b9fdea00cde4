import * as vscode from 'vscode';
import type { Backend } from './backend.ts';
import type { StatusResult } from './protocol.ts';
import { visible } from './chat/visible.ts';

/** What becomes of a session's background commands when it is left: `keep` leaves it open, `undefined` stays in it. */
export type Fate = 'end' | 'keep' | undefined;

/** Asks what becomes of a session's background commands, where there are any. */
export async function fateOfJobs(backend: Backend, session: string | undefined): Promise<Fate> {
  if (session === undefined || backend.state !== 'running') {
    return 'end';
  }
  const status = await backend.request<StatusResult>('tandem/status', {}).catch(() => undefined);
  const jobs = (status?.jobs ?? []).filter((job) => job.sessionId === session);
  if (jobs.length === 0) {
    return 'end';
  }
  const one = jobs.length === 1;
  const [keep, end] = ['Keep Running', one ? 'End It' : 'End Them'];
  const picked = await vscode.window.showWarningMessage(
    `${one ? 'A command runs' : `${jobs.length} commands run`} in the background of this session.`,
    {
      modal: true,
      detail: `${jobs.map((job) => visible(job.title, false)).join('\n')}\n\nKept running, ${one ? 'it ends' : 'they end'} with the window; the status bar lists ${one ? 'it' : 'them'}.`,
    },
    keep,
    end,
  );
  return picked === keep ? 'keep' : picked === end ? 'end' : undefined;
}

/** Lists the commands that go on in the background; one can be ended. */
export async function showJobs(backend: Backend): Promise<void> {
  const { jobs = [] } = await backend.request<StatusResult>('tandem/status', {});
  if (jobs.length === 0) {
    return void vscode.window.showInformationMessage('Tandem: no command runs in the background.');
  }
  const items = jobs.map((job) => ({ job, label: `$(terminal) ${visible(job.title, false)}`, description: job.jobId }));
  const picked = await vscode.window.showQuickPick(items, {
    title: 'Tandem: Commands in the Background',
    placeHolder: 'A command to end',
    matchOnDescription: true,
  });
  const end = 'End It';
  if (!picked || (await vscode.window.showWarningMessage(`End “${visible(picked.job.title, false)}”?`, { modal: true }, end)) !== end) {
    return;
  }
  const { sessionId, jobId } = picked.job;
  const call = { sessionId, name: 'job_kill', arguments: { job_id: jobId } };
  const result = await backend.request<{ success: boolean; data: string; summary?: string }>('tandem/tools/call', call);
  if (!result.success) {
    throw new Error(result.summary || result.data);
  }
}
