--- Asks the person: whether a tool call may run, or what the model wants to know.
---
--- A question is shown at once, in a window that leaves the cursor where it is. It takes the keyboard only in Normal
--- mode and after a moment in which no key is pressed, once; nothing in it is chosen by a single key, so that one that
--- was meant for the text answers nothing, and no key counts that was pressed before somebody can have seen it. What
--- is asked about can be allowed when all of it was on the screen. One question is on the screen at a time.
local api = vim.api
local visible = require('tandem.visible')

local M = {}

---@class tandem.Question
---@field instance tandem.Instance
---@field session string
---@field call string
---@field title string
---@field body fun(p: tandem.Sheet)
---@field options {id?: string, name: string, allows?: boolean, opens?: boolean, words?: boolean}[] with `words` some are written
---@field unseen? string what is asked about, which is too large for the window: nothing allows it before it was opened
---@field heading? string what stands over words of the person's own
---@field respond? fun(answer?: string, words?: string) nil once it is answered; called with nil where nobody answers
---@field offered? boolean it has taken the keyboard once
---@field hidden? boolean somebody has closed its window
---@field writing? boolean the answer is being written
---@field deadline? integer
---@field since? integer when it took the keyboard
---@field ready? boolean what is pressed counts
---@field seen? table<integer, true> the lines that were on the screen while it had the keyboard

---@class tandem.Sheet
---@field lines string[]
---@field whole table<integer, string>
---@field spans tandem.Span[]
---@field rows table<integer, integer> the option of a line

--- So long after a question has taken the keyboard nothing answers it.
local SETTLE_MS = 300

--- A command of more lines is told to go on below.
local MANY_LINES = 40

--- What stands over the words that go with a refusal.
local REASON = 'Reject, and tell the agent why'

--- What stands before a line that belongs to the one above.
local GOES_ON = '  ┆ '

local namespace = api.nvim_create_namespace('tandem_question')
local keys = api.nvim_create_namespace('tandem_question_keys')

local queue = {} ---@type tandem.Question[]
local timer ---@type uv.uv_timer_t?
local last_key = 0
local window, buffer, before ---@type integer?, integer?, integer?
local shown ---@type tandem.Question?

--- Notes the time of every key from now on; the present one counts as pressed.
function M.watch_keys()
  last_key = vim.uv.now()
  vim.on_key(function()
    last_key = vim.uv.now()
  end, keys)
end

---@return boolean
local function quiet()
  local idle = require('tandem.config').get().ask_idle_ms
  local mode = api.nvim_get_mode()
  local free = mode.mode == 'n' and not mode.blocking and vim.fn.getcmdwintype() == ''
  return free and vim.uv.now() - last_key >= idle
end

---@return boolean
local function is_open()
  return window ~= nil and api.nvim_win_is_valid(window)
end

---@return boolean
local function is_focused()
  return is_open() and api.nvim_get_current_win() == window
end

-- The window ---------------------------------------------------------------------------------------

---@param question tandem.Question
---@return tandem.Sheet
local function sheet(question)
  local p = { lines = {}, spans = {}, whole = {}, rows = {} } ---@type tandem.Sheet
  question.body(p)
  return p
end

--- Where the window stands: over the end of the chat while somebody works elsewhere, in the middle to be answered.
---@param focused boolean
---@param question tandem.Question
---@param lines string[]
---@return vim.api.keyset.win_config
local function place(focused, question, lines)
  local screen = { width = vim.o.columns, height = vim.o.lines - vim.o.cmdheight - 2 }
  local left, bottom, room = 0, screen.height + 1, screen.width
  local chat
  for _, win in ipairs(vim.fn.win_findbuf(question.instance.chat.buf)) do
    if api.nvim_win_get_tabpage(win) == api.nvim_get_current_tabpage() then
      chat = win
    end
  end
  if not focused and chat then
    local at = api.nvim_win_get_position(chat)
    left, room = at[2], api.nvim_win_get_width(chat)
    bottom = at[1] + api.nvim_win_get_height(chat) + 1
  end
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(math.max(width + 1, vim.fn.strdisplaywidth(question.title) + 4, 46), room - 2, 110)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  height = math.max(math.min(height, math.floor(screen.height * (focused and 0.8 or 0.6))), 1)
  local config = {
    relative = 'editor',
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = { { ' ' .. vim.fn.strcharpart(question.title, 0, width - 4) .. ' ', 'TandemTitle' } },
    footer_pos = 'right',
    zindex = 60,
  }
  if focused then
    config.row, config.col = math.max(math.floor((screen.height - height) / 2) - 1, 0), (room - width) / 2
    config.footer = { { question.ready and ' 1-9 or j k, then Enter · Esc: later ' or ' … ', 'TandemHint' } }
  else
    local hint = width > 40 and ' :Tandem answer, or wait in Normal mode ' or ' :Tandem answer '
    config.row, config.col = math.max(bottom - height - 2, 0), left + math.max(room - width - 2, 0)
    config.footer = { { hint, 'TandemHint' } }
  end
  return config
end

---@param id integer
local function close_window(id)
  if api.nvim_win_is_valid(id) then
    pcall(api.nvim_win_close, id, true)
  end
end

--- Takes the question off the screen and gives the keyboard back.
local function hide()
  local back = is_focused() and before
  local was = window
  window, shown = nil, nil
  if back and api.nvim_win_is_valid(back) then
    api.nvim_set_current_win(back)
  end
  if was then
    close_window(was)
  end
end

---@param question tandem.Question
---@param given? string
---@param words? string
local function answer(question, given, words)
  local respond = question.respond
  question.respond = nil
  for i, other in ipairs(queue) do
    if other == question then
      table.remove(queue, i)
      break
    end
  end
  if shown == question then
    hide()
  end
  if respond then
    question.instance.chat:asking(question.call, false)
    respond(given, words)
  end
  require('tandem.status').changed()
end

--- Goes back to the text; the question waits.
local function later()
  if before and api.nvim_win_is_valid(before) then
    api.nvim_set_current_win(before)
  else
    vim.cmd('wincmd p')
  end
end

---@param question tandem.Question
---@param id? string the option that the words go with; without one they are the answer
local function in_own_words(question, id)
  hide()
  question.writing = true
  require('tandem.prompt').open({
    title = id and REASON or question.heading or question.title,
    on_submit = function(text)
      answer(question, id or text, id and text)
    end,
    on_close = function()
      question.writing = false
    end,
  })
end

--- Shows what is too large for the window, in a tab page of its own. The question waits.
---@param question tandem.Question
local function open_unseen(question)
  hide()
  local lines = visible.lines(question.unseen)
  question.unseen = nil
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].bufhidden, vim.bo[buf].modifiable, vim.bo[buf].filetype = 'wipe', false, 'diff'
  vim.cmd('tab sbuffer ' .. buf)
  vim.wo[0][0].winbar = ('%%#TandemTitle# What Tandem asks about, %d lines %%#TandemHint# q closes it, :Tandem answer answers'):format(#lines)
  vim.keymap.set('n', 'q', '<Cmd>tabclose<CR>', { buffer = buf, nowait = true })
end

--- Notes which lines of the question are on the screen whole.
local function look()
  if not is_focused() then
    return
  end
  shown.seen = shown.seen or {}
  local room = api.nvim_win_get_height(window)
  for row = vim.fn.line('w0', window), api.nvim_buf_line_count(buffer) do
    room = room - api.nvim_win_text_height(window, { start_row = row - 1, end_row = row - 1 }).all
    if room < 0 then
      return
    end
    shown.seen[row] = true
  end
end

--- The first line of the question that was not on the screen yet.
---@param question tandem.Question
---@return integer?
local function first_unseen(question)
  for row = 1, api.nvim_buf_line_count(buffer) do
    if not (question.seen and question.seen[row]) then
      return row
    end
  end
end

--- Answers with the option on the line of the cursor. One that allows shows first what was not on the screen yet.
local function confirm()
  local question = shown
  if not question or not question.ready then
    return
  end
  look()
  local row = vim.b[buffer].tandem_rows[tostring(api.nvim_win_get_cursor(0)[1])]
  local option = row and question.options[row]
  if option and option.opens then
    open_unseen(question)
  elseif option and option.allows and question.unseen then
    require('tandem.chat').tell('open the change first: it is too large to be shown here')
  elseif option and option.allows and first_unseen(question) then
    api.nvim_win_set_cursor(0, { first_unseen(question), 0 })
    vim.cmd('normal! zt')
    require('tandem.chat').tell('not all of it was on the screen; here is the next part')
  elseif option and option.words then
    in_own_words(question, option.id)
  elseif option then
    answer(question, option.id)
  elseif row then
    in_own_words(question)
  end
end

---@param index integer
local function choose(index)
  for row, option in pairs(vim.b[buffer].tandem_rows) do
    if option == index then
      api.nvim_win_set_cursor(0, { tonumber(row), 1 })
    end
  end
end

---@return integer
local function make_buffer()
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].filetype = 'tandem-question'
  local function map(key, fn)
    vim.keymap.set('n', key, fn, { buffer = buf, nowait = true })
  end
  map('<CR>', confirm)
  map('<Esc>', later)
  map('q', later)
  for i = 1, 9 do
    map(tostring(i), function()
      if shown and shown.ready then
        choose(i)
      end
    end)
  end
  return buf
end

---@param question tandem.Question
---@return boolean shown
local function show(question)
  if not buffer or not api.nvim_buf_is_valid(buffer) then
    buffer = make_buffer()
  end
  local p = sheet(question)
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(buffer, 0, -1, true, p.lines)
  vim.bo[buffer].modifiable = false
  api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for row, group in pairs(p.whole) do
    api.nvim_buf_set_extmark(buffer, namespace, row - 1, 0, { line_hl_group = group })
  end
  for _, span in ipairs(p.spans) do
    api.nvim_buf_set_extmark(buffer, namespace, span[1] - 1, span[2], { end_col = span[3], hl_group = span[4] })
  end
  local rows = vim.empty_dict()
  for row, option in pairs(p.rows) do
    rows[tostring(row)] = option
    api.nvim_buf_set_extmark(buffer, namespace, row - 1, 0, { end_col = 3, hl_group = 'TandemKey' })
  end
  vim.b[buffer].tandem_rows = rows
  -- There are moments in which no window can be opened.
  local ok, id = pcall(api.nvim_open_win, buffer, false, place(false, question, p.lines))
  if not ok then
    return false
  end
  window, shown = id, question
  local options = vim.wo[id][0]
  options.wrap, options.linebreak, options.cursorline, options.conceallevel = true, false, false, 0
  options.showbreak = GOES_ON
  return true
end

--- Throws away what was typed and not looked at yet.
local function drop_typed()
  for _ = 1, 1000 do
    if vim.fn.getchar(1) == 0 then
      return
    end
    vim.fn.getchar(0)
  end
end

--- Gives the keyboard to the question.
local function focus()
  local question = assert(shown)
  question.offered, question.ready, question.since = true, false, vim.uv.now()
  drop_typed()
  before = api.nvim_get_current_win()
  api.nvim_win_set_config(window, place(true, question, api.nvim_buf_get_lines(buffer, 0, -1, true)))
  api.nvim_set_current_win(window)
  vim.wo[window][0].cursorline = true
  api.nvim_win_set_cursor(window, { 1, 0 })
  local id = window
  api.nvim_create_autocmd('WinLeave', {
    buffer = buffer,
    once = true,
    callback = function()
      vim.schedule(function()
        if shown == question and window == id and is_open() and not is_focused() then
          vim.wo[id][0].cursorline = false
          api.nvim_win_set_config(id, place(false, question, api.nvim_buf_get_lines(buffer, 0, -1, true)))
        end
      end)
    end,
  })
end

local function tick()
  if #queue == 0 then
    if timer then
      timer:stop()
      timer:close()
      timer = nil
    end
    return
  end
  for _, question in ipairs(vim.list_slice(queue)) do
    if question.deadline and vim.uv.now() > question.deadline then
      answer(question)
    end
  end
  local question = queue[1]
  if not question then
    return
  elseif shown and not is_open() then
    shown, window = nil, nil -- somebody has closed it: it waits to be asked for
    question.hidden = true
  end
  if not shown and not question.hidden and not question.writing then
    show(question)
  end
  if shown and not question.offered and not is_focused() and quiet() then
    focus()
  end
  look()
  if is_focused() and shown.since and not shown.ready and vim.uv.now() - shown.since >= SETTLE_MS then
    shown.ready = true
    api.nvim_win_set_config(window, place(true, shown, api.nvim_buf_get_lines(buffer, 0, -1, true)))
  end
end

---@param question tandem.Question
local function put(question)
  queue[#queue + 1] = question
  question.instance.chat:asking(question.call, true)
  require('tandem.status').changed()
  if not timer then
    timer = assert(vim.uv.new_timer())
    timer:start(0, 50, vim.schedule_wrap(tick))
  end
end

-- What is asked ------------------------------------------------------------------------------------

--- Adds a line. One that is many rows high goes on in the next one, so that each can be on the screen whole.
---@param p tandem.Sheet
---@param line string
---@param highlight? string
---@param margin? string
---@param parts? {[1]: integer, [2]: integer, [3]: string}[] bytes of the line with a highlight of their own
local function push(p, line, highlight, margin, parts)
  local most = math.max(math.min(3 * (vim.o.columns - 8), 300), 40) -- bytes
  local from = 1
  repeat
    local to = math.min(from + most - 1, #line)
    to = to < #line and to + vim.str_utf_end(line, to) or to
    local before = from == 1 and (margin or '') or GOES_ON
    p.lines[#p.lines + 1] = before .. line:sub(from, to)
    p.whole[#p.lines] = highlight
    for _, part in ipairs(parts or {}) do
      local first, last = math.max(part[1], from - 1), math.min(part[2], to)
      if first < last then
        local shift = #before - from + 1
        table.insert(p.spans, { #p.lines, first + shift, last + shift, part[3] })
      end
    end
    from = to + 1
  until from > #line
end

---@param p tandem.Sheet
---@param text string
---@param highlight? string
---@param margin? string
local function add(p, text, highlight, margin)
  for _, line in ipairs(visible.lines(text)) do
    push(p, line, highlight, margin)
  end
end

---@param p tandem.Sheet
---@param options {name: string}[]
local function add_options(p, options)
  add(p, '')
  for i, option in ipairs(options) do
    add(p, (' %d  %s'):format(i, (option.name:gsub('\n', ' '))))
    p.rows[#p.lines] = i
  end
end

--- The command that is asked about: where it runs, how much it is, and all of it.
---@param p tandem.Sheet
---@param command string
---@param folder string
local function add_command(p, command, folder)
  local _, ends = command:gsub('\n', '')
  local lines = ends + (command:find('[^\n]$') and 1 or 0)
  local size = lines > 1 and (' · %d lines, %d bytes'):format(lines, #command) or ''
  add(p, ('  in %s%s'):format(vim.fn.fnamemodify(folder, ':~'), size), 'TandemDim')
  if lines > MANY_LINES then
    add(p, '  It goes on below this window: j or Ctrl-F scroll.', 'TandemWaiting')
  end
  add(p, (command:gsub('\n$', '')), 'TandemCommand', '  │ ')
end

--- What a change is made of, where there is no diff that could be shown.
---@param call tandem.Update
---@return string
local function arguments(call)
  local out = { visible.line(call.title or 'A tool call'), '' }
  local input = type(call.rawInput) == 'table' and call.rawInput or {}
  local names = vim.tbl_keys(input)
  table.sort(names)
  for _, name in ipairs(names) do
    local value = input[name]
    vim.list_extend(out, { name .. ':', type(value) == 'string' and value or vim.json.encode(value), '' })
  end
  return table.concat(out, '\n')
end

--- The diffs of a call, and what of them is too large to be told.
---@param call tandem.Update
---@param command? string
---@return {path: string, unified: string, changed?: tandem.LineSpan[], new: boolean}[] diffs
---@return string[] missing
local function changes(call, command)
  local diffs, missing = {}, {}
  for _, content in ipairs(call.content or {}) do
    local text = content.type == 'content' and vim.tbl_get(content, 'content', 'text')
    local unified = content.type == 'diff' and vim.tbl_get(content, '_meta', 'tandem', 'unified')
    if text and text:find('^%-%-%- ') then
      unified = text
    end
    if unified then
      local path = content.path or unified:match('^%-%-%- [^\n]*\n%+%+%+ b?/?([^\n]*)') or ''
      local changed = vim.tbl_get(content, '_meta', 'tandem', 'spans')
      diffs[#diffs + 1] = { path = path, unified = unified, changed = changed, new = content.path ~= nil and content.oldText == nil }
    elseif content.type == 'diff' then
      missing[#missing + 1] = ('%s: the change is too large to be shown here.'):format(content.path or '')
    elseif text and text ~= command then
      missing[#missing + 1] = text
    end
  end
  return diffs, missing
end

---@param question tandem.Question
---@param params tandem.PermissionParams
local function permission(question, params)
  local call = params.toolCall or {}
  local meta = vim.tbl_get(params, '_meta', 'tandem') or {}
  local command = vim.tbl_get(call, 'rawInput', 'command')
  command = type(command) == 'string' and command or nil
  local folder = vim.tbl_get(call, 'rawInput', 'cwd')
  local root = question.instance.root
  folder = type(folder) == 'string' and vim.fs.joinpath(folder:sub(1, 1) == '/' and '' or root, folder) or root
  local diffs, missing = changes(call, command)
  if not command and #missing > 0 then
    question.unseen = arguments(call)
    for _, option in ipairs(question.options) do
      option.name = option.allows and option.name .. ', once the change was opened' or option.name
    end
    table.insert(question.options, { name = 'Open the change', opens = true })
  end
  question.title = command and 'Tandem asks to run' or 'Tandem asks'
  question.body = function(p)
    local chat = require('tandem.chat')
    if command then
      add_command(p, command, folder)
    else
      add(p, '  ' .. (call.title or 'A tool call'), 'TandemCommand')
    end
    if meta.danger == 'dangerous' then
      add(p, '  Dangerous. ' .. (meta.reason or ''), 'TandemFailed')
    elseif meta.reason and meta.reason ~= '' then
      add(p, '  ' .. meta.reason, 'TandemDim')
    end
    for _, diff in ipairs(diffs) do
      local added, removed = chat.count(diff.unified)
      local name = vim.fn.fnamemodify(diff.path, ':.')
      add(p, ('  %s  +%d −%d%s'):format(name, added, removed, diff.new and '  (new)' or ''), 'TandemDim')
    end
    if not command then
      for _, text in ipairs(missing) do
        add(p, text, 'TandemWaiting', '  ')
      end
    end
    add_options(p, question.options)
    for _, diff in ipairs(diffs) do
      add(p, '')
      local lines, highlights, parts = chat.diff_lines(diff.unified, diff.changed)
      for i, line in ipairs(lines) do
        push(p, line, highlights[i], nil, parts[i])
      end
    end
  end
end

--- Asks whether a tool call may run. respond is called once, now or later; where nobody answers the outcome is cancelled.
---@param instance tandem.Instance
---@param params tandem.PermissionParams
---@param respond fun(result: tandem.PermissionResult)
function M.permission(instance, params, respond)
  local options = {}
  for _, option in ipairs(params.options or {}) do
    options[#options + 1] = { id = option.optionId, name = option.name, allows = vim.startswith(option.kind or '', 'allow') }
    if option.kind == 'reject_once' then
      options[#options + 1] = { id = option.optionId, name = option.name .. ', and say why …', words = true }
    end
  end
  if #options == 0 then
    return respond({ outcome = { outcome = 'cancelled' } })
  end
  local question = { ---@type tandem.Question
    instance = instance,
    session = params.sessionId,
    call = vim.tbl_get(params, 'toolCall', 'toolCallId'),
    options = options,
    respond = function(id, words)
      respond({
        outcome = id and { outcome = 'selected', optionId = id } or { outcome = 'cancelled' },
        _meta = words and { tandem = { feedback = words } },
      })
    end,
  }
  permission(question, params)
  put(question)
end

--- Asks what the model wants to know. respond is called once, with the id of an option, the person's own words, or nil.
---@param instance tandem.Instance
---@param params tandem.ClarifyParams
---@param respond fun(answer?: string)
function M.clarify(instance, params, respond)
  local options, rows = {}, {}
  for i, option in ipairs(params.options or {}) do
    options[i] = { id = option.id, name = option.label }
    local default = option.id == params.defaultAnswer
    rows[i] = { name = default and option.label .. '  (if you do not answer)' or option.label }
  end
  rows[#rows + 1] = { name = 'In your own words …' }
  put({
    instance = instance,
    session = params.sessionId,
    call = params.toolCallId,
    title = 'Tandem wants to know',
    heading = visible.line(vim.split(params.question, '\n')[1]),
    deadline = params.timeoutMs and params.timeoutMs > 0 and vim.uv.now() + params.timeoutMs or nil,
    body = function(p)
      add(p, params.question)
      add_options(p, rows)
    end,
    options = options,
    respond = respond,
  })
end

--- Shows the question that waits and gives it the keyboard.
function M.answer()
  local question = queue[1]
  if not question then
    return require('tandem.chat').tell('nothing is asked')
  end
  question.hidden = false
  if not is_open() then
    show(question)
  end
  if shown and not is_focused() then
    focus()
  end
end

--- How many questions of a session wait.
---@param session? string
---@return integer
function M.waiting(session)
  local count = 0
  for _, question in ipairs(queue) do
    if question.session == session then
      count = count + 1
    end
  end
  return count
end

--- Takes back the questions of a session, or those of one of its calls, that are still open.
---@param session string
---@param call? string
---@return boolean any
function M.withdraw(session, call)
  local any = false
  for _, question in ipairs(vim.list_slice(queue)) do
    if question.session == session and (not call or question.call == call) then
      answer(question)
      any = true
    end
  end
  return any
end

return M
