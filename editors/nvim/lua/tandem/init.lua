--- Tandem: a coding agent that edits your buffers while you type in them.
local M = {}

---@param message string
---@param level? integer
local function tell(message, level)
  require('tandem.chat').tell(message, level)
end

---@param buf integer
---@return tandem.Instance?
local function running(buf)
  local instance = require('tandem.client').current(buf)
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
---@return table[]
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

---@param instance tandem.Instance
---@param prompt table[]
local function run(instance, prompt)
  if instance.running then
    return tell('a turn is running; :TandemCancel ends it', vim.log.levels.WARN)
  end
  local chat, permission = instance.chat, require('tandem.permission')
  instance.running = true
  permission.watch_keys()
  chat:asked(prompt[1].text)
  instance:request('tandem/session/prompt', { sessionId = instance.session, prompt = prompt }, function(err, result)
    instance.running = false
    if instance.session then
      permission.withdraw(instance.session)
    end
    instance.documents:release()
    if err then
      chat:note('Error: ' .. err.message, 'DiagnosticError')
      return tell(err.message, vim.log.levels.ERROR)
    end
    if result.error then
      chat:note('Error: ' .. result.error.message, 'DiagnosticError')
    end
    chat:note(('(turn %d: %s)'):format(result.turn, result.stopReason))
  end)
end

--- Asks the agent. Without text it opens the chat.
---@param text string
---@param range? {[1]: integer, [2]: integer} lines to go along, from 1
function M.ask(text, range)
  local buf = vim.api.nvim_get_current_buf()
  local client = require('tandem.client')
  local instance = client.current(buf)
  local root = instance and instance.chat.buf == buf and instance.root or client.root(buf)
  local prompt = blocks(text, buf, range)
  client.ensure(root, function(ready, err)
    if err then
      ready.chat:note(err, 'DiagnosticError') -- the whole of it: a message is cut to one line
      ready.chat:open()
      return tell(err, vim.log.levels.ERROR)
    end
    ready.chat:open()
    if text ~= '' then
      run(ready, prompt)
    end
  end)
end

--- Ends the running turn.
function M.cancel()
  local instance = running(vim.api.nvim_get_current_buf())
  if not instance then
    return
  elseif not instance.running then
    return tell('nothing is running')
  end
  require('tandem.permission').withdraw(instance.session)
  instance:notify('tandem/session/cancel', { sessionId = instance.session })
end

--- Takes back the changes of the last turn that has any; called again, those of the one before. What was typed stays.
function M.undo()
  local instance = running(vim.api.nvim_get_current_buf())
  if not instance then
    return
  end
  -- With no turn named it is the last one whose changes still stand.
  instance:request('tandem/changes/undo', { sessionId = instance.session, scope = 'turn' }, function(err, result)
    instance.documents:release()
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    end
    local changed, conflicts = result.changed or {}, result.conflicts or {}
    local message = ('undone in %d file%s'):format(#changed, #changed == 1 and '' or 's')
    if #conflicts > 0 then
      message = ('%s; changed since, so kept: %d'):format(message, #conflicts)
    end
    instance.chat:note('(' .. message .. ')', #conflicts > 0 and 'DiagnosticWarn' or nil)
    for _, conflict in ipairs(conflicts) do
      instance.chat:note(('  %s: %s'):format(vim.uri_to_fname(conflict.uri), conflict.reason), 'DiagnosticWarn')
    end
    tell(message, #conflicts > 0 and vim.log.levels.WARN or nil)
  end)
end

--- Ends the server of this workspace.
function M.stop()
  local instance = running(vim.api.nvim_get_current_buf())
  if instance then
    instance:stop()
  end
end

return M
