--- A window in which words are written: what to ask the agent, or the answer to its question.
local api = vim.api

local M = {}

local drafts = {} ---@type table<string, string[]> what was written and not sent, by the title of the window

---@class tandem.PromptOptions
---@field title string
---@field root? string the workspace whose files can be mentioned
---@field on_submit fun(text: string)
---@field on_close? fun() nothing was sent

--- Opens the window, in Insert mode. What was left in it the last time is still there.
---@param options tandem.PromptOptions
function M.open(options)
  require('tandem.highlights').define()
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'tandem-prompt'
  local draft = drafts[options.title] or { '' }
  api.nvim_buf_set_lines(buf, 0, -1, true, draft)
  local width = math.max(math.min(vim.o.columns - 4, 90), 10)
  local before = api.nvim_get_current_win()
  local function size()
    local height = 0
    for _, line in ipairs(api.nvim_buf_get_lines(buf, 0, -1, true)) do
      height = height + math.max(1, math.ceil((vim.fn.strdisplaywidth(line) + 1) / width))
    end
    return math.max(math.min(height, math.floor(vim.o.lines * 0.5)), 3)
  end
  local function config()
    local height = size()
    return {
      relative = 'editor',
      width = width,
      height = height,
      row = math.max(vim.o.lines - vim.o.cmdheight - height - 4, 0),
      col = math.floor((vim.o.columns - width) / 2),
      style = 'minimal',
      border = 'rounded',
      title = { { (' %s '):format(vim.fn.strcharpart(options.title, 0, width - 4)), 'TandemTitle' } },
      footer = { { ' Enter sends · Ctrl-J new line · Esc Esc closes ', 'TandemHint' } },
      footer_pos = 'right',
      zindex = 70,
    }
  end
  local window = api.nvim_open_win(buf, true, config())
  local sent = false
  vim.wo[window][0].wrap, vim.wo[window][0].linebreak = true, true

  local function close()
    if api.nvim_get_mode().mode:find('^i') then
      vim.cmd.stopinsert()
    end
    if api.nvim_win_is_valid(before) then
      api.nvim_set_current_win(before)
    end
    if api.nvim_win_is_valid(window) then
      api.nvim_win_close(window, true)
    end
  end
  local function submit()
    local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
    if not text:find('%S') then
      return
    end
    sent = true
    close()
    drafts[options.title] = nil
    options.on_submit(vim.trim(text))
  end
  api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
    buffer = buf,
    callback = function()
      drafts[options.title] = api.nvim_buf_get_lines(buf, 0, -1, true)
      if api.nvim_win_is_valid(window) then
        api.nvim_win_set_config(window, config())
      end
    end,
  })
  api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      if not sent and options.on_close then
        options.on_close()
      end
    end,
  })
  vim.keymap.set('n', '<CR>', submit, { buffer = buf, nowait = true })
  vim.keymap.set('i', '<CR>', function()
    if vim.fn.pumvisible() == 1 and vim.fn.complete_info({ 'selected' }).selected >= 0 then
      return api.nvim_feedkeys(vim.keycode('<C-y>'), 'ni', false) -- what is chosen in the menu is taken, before the next key
    end
    submit()
  end, { buffer = buf, nowait = true })
  if options.root then
    require('tandem.mentions').follow(buf, options.root)
  end
  vim.keymap.set('i', '<C-j>', '<CR>', { buffer = buf, nowait = true })
  vim.keymap.set('n', '<Esc>', close, { buffer = buf, nowait = true })
  vim.keymap.set('n', 'q', close, { buffer = buf, nowait = true })
  api.nvim_win_set_cursor(window, { #draft, #draft[#draft] })
  vim.cmd('startinsert!')
end

return M
