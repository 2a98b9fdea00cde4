import * as vscode from 'vscode';
import type { Backend } from './backend.ts';
import type { StatusResult } from './protocol.ts';
import { visible } from './chat/visible.ts';

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
