--- Tandem: a coding agent that edits your buffers while you type in them.
local M = {}

---@param message string
---@param level? integer
local function tell(message, level)
  require('tandem.chat').tell(message, level)
end

---@return tandem.Instance?
local function running()
  local instance = require('tandem.client').current(vim.api.nvim_get_current_buf())
  if not instance or not instance.session then
    tell('no session here yet; :Tandem starts one', vim.log.levels.WARN)
    return nil
  end
  return instance
end

--- Settings from Lua; `vim.g.tandem` serves as well. Raises an error where one is wrong.
---@param options? table<string, any>
function M.setup(options)
  require('tandem.config').set(options)
end

--- What goes along with the words: the file that the person looks at, and the lines chosen in it.
---@param text string
---@param buf integer
---@param range? {[1]: integer, [2]: integer} first and last line, from 1
---@return tandem.ContentBlock[]
local function blocks(text, buf, range)
  local result = { { type = 'text', text = text } }
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name == '' then
    return result
  end
  local uri = vim.uri_from_fname(name)
  if range then
    local lines = vim.api.nvim_buf_get_lines(buf, range[1] - 1, range[2], false)
    result[2] = {
      type = 'resource',
      resource = { uri = ('%s#L%d-L%d'):format(uri, range[1], range[2]), text = table.concat(lines, '\n') .. '\n' },
    }
  else
    result[2] = { type = 'resource_link', uri = uri, name = vim.fs.basename(name) }
  end
  return result
end

--- The window that a person works in: from the chat, the one beside it.
---@return integer
local function working_window()
  local window = vim.api.nvim_get_current_win()
  if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == 'tandem' then
    return require('tandem.chat').other_window() or window
  end
  return window
end

--- What a person has in front of them, for the model, where they share it. Selected lines go along as a block.
---@return table?
local function attention()
  local window = working_window()
  local buf = vim.api.nvim_win_get_buf(window)
  local name = vim.api.nvim_buf_get_name(buf)
  if not require('tandem.config').get().share_editor or vim.bo[buf].buftype ~= '' or name == '' then
    return nil
  end
  local at = vim.api.nvim_win_get_cursor(window)
  ---@type tandem.EditorContext
  local editor = {
    uri = vim.uri_from_fname(name),
    cursor = { line = at[1] - 1, character = at[2] },
    visible = {
      start = { line = vim.fn.line('w0', window) - 1, character = 0 },
      ['end'] = { line = vim.fn.line('w$', window) - 1, character = 0 },
    },
  }
  return { tandem = { editor = editor } }
end

---@param instance tandem.Instance
---@param prompt tandem.ContentBlock[]
local function run(instance, prompt)
  local chat, question, status = instance.chat, require('tandem.question'), require('tandem.status')
  instance.running = true
  question.watch_keys()
  chat:asked(prompt[1].text)
  status.changed()
  local params = { sessionId = instance.session, prompt = prompt, _meta = attention() }
  instance:request('tandem/session/prompt', params, function(err, result)
    if not instance.session then
      return -- the server has ended, which has been said
    end
    instance.running = false
    question.withdraw(instance.session)
    instance.documents:release()
    status.changed()
    if err then
      chat:ended('error', err.message)
      return tell(err.message, vim.log.levels.ERROR)
    end
    instance.turn = result.turn
    chat:ended(result.stopReason, result.error and result.error.message)
    local later = instance.later
    instance.later = nil
    if later then
      run(instance, later)
    end
  end)
end

--- Adds to the running turn; where that has just ended, it is the next prompt.
---@param instance tandem.Instance
---@param prompt tandem.ContentBlock[]
local function steer(instance, prompt)
  if not instance:serves('tandem/session/steer') then
    return tell('a turn is running; :Tandem stop ends it', vim.log.levels.WARN)
  end
  local item = instance.chat:added(prompt[1].text)
  instance:request('tandem/session/steer', { sessionId = instance.session, prompt = prompt }, function(err)
    if not err then
      return tell('the model gets it with its next request')
    end
    instance.chat:taken(item)
    if vim.tbl_get(err, 'data', 'code') ~= 'no_turn' then
      return tell(err.message, vim.log.levels.ERROR)
    elseif instance.running then
      instance.later = prompt
    elseif instance.session then
      run(instance, prompt)
    end
  end)
end

--- The instance of the workspace that a buffer belongs to, started where it does not run. Where that fails it is told.
---@param buf integer
---@param callback fun(instance: tandem.Instance)
local function ensure(buf, callback)
  local client = require('tandem.client')
  client.ensure(client.root(buf), function(ready, err)
    if err then
      ready.chat:ended('error', err) -- the whole of it: a message is cut to one line
      ready.chat:open()
      return tell(err, vim.log.levels.ERROR)
    end
    ready.chat:open()
    callback(ready)
  end)
end

--- Gives the instance of the workspace at hand to fn, started where it does not run: with the session that the folder had
--- last come the changes that wait in it. fn hears whether it had to be started.
---@param fn fun(instance: tandem.Instance, started: boolean)
local function with_session(fn)
  local client = require('tandem.client')
  local buf = vim.api.nvim_get_current_buf()
  local instance = client.current(buf)
  if instance and instance.session then
    return fn(instance, false)
  end
  client.ensure(client.root(buf), function(ready, err)
    if err then
      return tell(err, vim.log.levels.ERROR)
    end
    fn(ready, true)
  end)
end

--- The buffer that a person works in: from the chat, the one beside it.
---@return integer
local function working_buffer()
  local buf = vim.api.nvim_get_current_buf()
  if vim.bo[buf].filetype ~= 'tandem' then
    return buf
  end
  local window = require('tandem.chat').other_window()
  return window and vim.api.nvim_win_get_buf(window) or buf
end

--- Asks the agent. Without text it opens the chat.
---@param text string
---@param range? {[1]: integer, [2]: integer} lines to go along, from 1
function M.ask(text, range)
  local prompt = blocks(text, working_buffer(), range)
  ensure(vim.api.nvim_get_current_buf(), function(instance)
    if text == '' then
      return
    elseif instance.running then
      return steer(instance, prompt)
    end
    run(instance, prompt)
  end)
end

--- Opens a window to write to the agent in.
---@param range? {[1]: integer, [2]: integer} lines to go along, from 1
function M.prompt(range)
  local buf = working_buffer()
  local root = require('tandem.client').root(vim.api.nvim_get_current_buf())
  local title = 'Ask about ' .. vim.fs.basename(root)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype == '' and name ~= '' then
    title = ('%s · %s'):format(title, vim.fs.basename(name))
    if range then
      title = ('%s:%d-%d'):format(title, range[1], range[2])
    end
  end
  require('tandem.prompt').open({
    title = title,
    root = root,
    on_submit = function(text)
      M.ask(text, range)
    end,
  })
end

--- Ends the running turn.
function M.cancel()
  local instance = running()
  if not instance then
    return
  elseif not instance.running then
    return tell('nothing is running')
  end
  require('tandem.question').withdraw(instance.session)
  instance:notify('tandem/session/cancel', { sessionId = instance.session })
end

--- Begins a new session, in an empty chat. What the old one has changed stays, and what waits in it is said.
function M.new()
  local instance = running()
  if not instance then
    return
  elseif instance.running then
    return tell('a turn is running; :Tandem stop ends it', vim.log.levels.WARN)
  end
  require('tandem.jobs').ask(instance, function(keep)
    if instance.session and not instance.running then
      instance:renew(keep)
    end
  end)
end

--- Lets the person go on with another session of the folder.
function M.sessions()
  with_session(function(instance)
    if instance.running then
      return tell('a turn is running; :Tandem stop ends it', vim.log.levels.WARN)
    end
    require('tandem.sessions').choose(instance)
  end)
end

--- Lists the rules about what the agent may do; one that was kept for an answer can be taken back.
function M.permissions()
  with_session(function(instance)
    require('tandem.rules').choose(instance)
  end)
end

--- Lists the changes that plan mode has queued, to approve or to discard them.
function M.plans()
  with_session(function(instance)
    require('tandem.plans').choose(instance)
  end)
end

--- Lists the commands that go on in the background; one can be ended.
function M.jobs()
  with_session(function(instance)
    require('tandem.jobs').choose(instance)
  end)
end

---@param instance tandem.Instance
local function undo(instance)
  -- With no turn named it is the last one whose changes still stand.
  instance:request('tandem/changes/undo', { sessionId = instance.session, scope = 'turn' }, function(err, result)
    instance.documents:release()
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    end
    local changed, conflicts = result.changed or {}, result.conflicts or {}
    local message = ('undone in %d file%s'):format(#changed, #changed == 1 and '' or 's')
    if #conflicts > 0 then
      message = ('%s; not completely in %d, see the chat'):format(message, #conflicts)
    end
    for _, conflict in ipairs(conflicts) do
      local name = vim.fn.fnamemodify(vim.uri_to_fname(conflict.uri), ':.')
      instance.chat:note(('%s: %s.'):format(name, conflict.reason), 'TandemWaiting')
    end
    tell(message, #conflicts > 0 and vim.log.levels.WARN or nil)
  end)
end

--- Takes back the changes of the last turn that has any; called again, those of the one before. What was typed stays.
function M.undo()
  with_session(undo)
end

--- Accepts or rejects the change at the cursor, those of the file in the window, or all. What was not marked yet is only
--- marked.
---@param what 'accept'|'reject'
---@param scope? 'file'|'all'
local function judge(what, scope)
  with_session(function(instance, started)
    local _, waits = instance.review:pending()
    if started and waits > 0 then
      return tell(('%s and is marked now; once more to %s'):format(require('tandem.sessions').count(waits), what))
    end
    instance.review:judge(what, scope)
  end)
end

---@param scope? 'file'|'all'
function M.accept(scope)
  judge('accept', scope)
end

---@param scope? 'file'|'all'
function M.reject(scope)
  judge('reject', scope)
end

--- Moves the cursor to the next change of the agent that waits.
function M.next()
  with_session(function(instance)
    instance.review:go(1)
  end)
end

--- Moves the cursor to the change before.
function M.prev()
  with_session(function(instance)
    instance.review:go(-1)
  end)
end

--- Puts the changes that wait into the quickfix list.
function M.changes()
  with_session(function(instance)
    instance.review:list()
  end)
end

--- Shows the diff of the file in the window, of all files, or side by side.
---@param how? 'all'|'split'
function M.diff(how)
  with_session(function(instance)
    if how == 'split' then
      instance.review:split()
    else
      instance.review:diff(how)
    end
  end)
end

--- Gives the keyboard to the question that waits.
function M.answer()
  require('tandem.question').answer()
end

--- Sets the mode or the model of the session, or of the one that is to come, or names it.
---@param field 'mode'|'model'
---@param value? string
local function set(field, value)
  local client = require('tandem.client')
  local buf = vim.api.nvim_get_current_buf()
  local instance = client.current(buf)
  if instance and instance.session then
    if not value then
      return tell(('the %s is %s'):format(field, instance[field] or 'unknown'))
    end
    return instance:want({ [field] = value })
  end
  local kept = client.want(client.root(buf), field, value)
  if kept then
    return tell(('the next session here has the %s %s'):format(field, kept))
  end
  tell(('no session here yet; :Tandem %s … chooses for the next one'):format(field))
end

--- Sets the mode of the session, or of the one that is to come; without one it is named.
---@param mode? string
function M.mode(mode)
  set('mode', mode)
end

--- Sets the model of the session, or of the one that is to come; without one it is named.
---@param model? string
function M.model(model)
  set('model', model)
end

--- Ends the server of this workspace.
function M.quit()
  local instance = running()
  if instance then
    instance:stop()
  end
end

--- For 'statusline': what the agent does and how many changes wait; empty before the first use.
---@return string
function M.status()
  return require('tandem.status').status()
end

return M
